import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["**/dist/**", "**/node_modules/**", "**/generated/**"] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  {
    files: ["**/*.{ts,svelte,svelte.ts}"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: globals.node },
  },
  {
    // Parts of them run in the page.
    files: ["**/tests/page/*.mjs"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    rules: {
      // Whatever a model writes is text. This is the rule that keeps it so.
      "svelte/no-at-html-tags": "error",
      "svelte/no-inline-styles": "error",
      eqeqeq: "error",
      "no-console": ["error", { allow: ["error"] }],
      "@typescript-eslint/switch-exhaustiveness-check": "off",
    },
  },
  { files: ["**/*.mjs"], rules: { "no-console": "off" } },
);
