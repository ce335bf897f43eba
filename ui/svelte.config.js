/** Plain Svelte 5 with its own TypeScript support: nothing to preprocess. */
export default { compilerOptions: { runes: true } };
