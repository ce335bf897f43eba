// Pictures of the page: all of them for whoever looks in .build/pictures, some for the documents in docs/images.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { IS_MACOS } from "../../.ci/setup/places.mjs";
import { serve } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage } from "./browser.mjs";
import { PICTURES, keep } from "./kept.mjs";

/** Pictures for the documents. */
const KEPT = [
  "overview-400-light",
  "overview-400-dark",
  "test-400-light",
  "test-400-dark",
  "page-900-light",
  "page-900-dark",
  "lost-400-light",
  "locked-400-light",
  "overview-400-light@2x",
];
const browser = await openBrowser();

test("the page is pictured in light and dark, narrow and wide, at both resolutions", async (t) => {
  mkdirSync(PICTURES, { recursive: true });
  const server = await serve(t);
  for (const colorScheme of ["light", "dark"]) {
    for (const deviceScaleFactor of [1, 2]) {
      const named = ending(colorScheme, deviceScaleFactor);
      const page = await openPage(t, browser, server, { colorScheme, deviceScaleFactor, path: "/#test" });
      await page.getByRole("button", { name: "Send" }).waitFor();
      await converse(page, "remember this code: amber lantern seven.");
      await converse(page, "what is the code?");
      await headerSays(page, "Ready");
      await picture(page, `test-400-${named}`);
      await page.getByRole("tab", { name: "Overview" }).click();
      await picture(page, `overview-400-${named}`);
      await page.setViewportSize({ width: 900, height: 640 });
      await picture(page, `page-900-${named}`);
      await page.setViewportSize({ width: 1200, height: 800 });
      await picture(page, `page-1200-${named}`);
      await page.context().close();
    }
  }
  const page = await openPage(t, browser, server);
  await headerSays(page, "Ready");
  server.child.kill("SIGKILL");
  await page.getByText(/^What you see is ([5-9]|\d\d) s old\.$/).waitFor();
  await picture(page, "lost-400-light");
  const locked = await serve(t, { local: { server: { apiKey: "amber-lantern-seven" } } });
  for (const colorScheme of ["light", "dark"]) {
    for (const deviceScaleFactor of [1, 2]) {
      const wanting = await openPage(t, browser, locked, { colorScheme, deviceScaleFactor });
      await wanting.getByRole("form", { name: "Key" }).waitFor();
      await picture(wanting, `locked-400-${ending(colorScheme, deviceScaleFactor)}`);
      await wanting.getByLabel("This server wants its key").fill("another key");
      await wanting.keyboard.press("Enter");
      await wanting.getByText("That was not its key.").waitFor();
      await picture(wanting, `locked-wrong-400-${ending(colorScheme, deviceScaleFactor)}`);
      await wanting.context().close();
    }
  }
  if (IS_MACOS) return t.diagnostic("docs/images shows the page as Linux draws it: left as it is");
  await keep(t, browser, KEPT);
});

const ending = (colorScheme, deviceScaleFactor) => `${colorScheme}${deviceScaleFactor === 2 ? "@2x" : ""}`;

async function picture(page, name) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
