import { copyFileSync, mkdirSync } from "node:fs";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const here = import.meta.dirname;

/** The icon has one home, icons/; the page gets a copy when it is built. */
function iconFromIcons(): Plugin {
  return {
    name: "hangar-icon",
    apply: "build",
    writeBundle(options) {
      const target = options.dir ?? `${here}/dist`;
      mkdirSync(target, { recursive: true });
      copyFileSync(`${here}/../icons/hangar.svg`, `${target}/hangar.svg`);
    },
  };
}

export default defineConfig({
  root: here,
  plugins: [svelte(), iconFromIcons()],
  build: {
    outDir: process.env.HANGAR_UI_OUT ?? `${here}/dist`,
    emptyOutDir: true,
    // The server's content policy allows files of its own origin only, so nothing may become a data: URL.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ["safari17", "chrome120", "firefox121"],
  },
  test: { environment: "node", include: ["src/**/*.test.ts"], root: here },
});
