// Pictures of the page: all of them for whoever looks in .build/pictures, some for the documents in docs/images.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BUILD, IS_MACOS, inClone } from "../../.ci/setup/places.mjs";
import { serve } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage } from "./browser.mjs";

const PICTURES = join(BUILD, "pictures");
const DOCUMENTS = inClone("docs/images");
/** Pictures for the documents. */
const KEPT = [
  "overview-400-light",
  "overview-400-dark",
  "test-400-light",
  "test-400-dark",
  "page-900-light",
  "page-900-dark",
  "lost-400-light",
  "overview-400-light@2x",
];
/** Figures differ from run to run; more than this is another look. */
const NOTICEABLE = 0.02;
const browser = await openBrowser();

test("the page is pictured in light and dark, narrow and wide, at both resolutions", async (t) => {
  mkdirSync(PICTURES, { recursive: true });
  const server = await serve(t);
  for (const colorScheme of ["light", "dark"]) {
    for (const deviceScaleFactor of [1, 2]) {
      const ending = `${colorScheme}${deviceScaleFactor === 2 ? "@2x" : ""}`;
      const page = await openPage(t, browser, server, { colorScheme, deviceScaleFactor, path: "/#test" });
      await page.getByRole("button", { name: "Send" }).waitFor();
      await converse(page, "remember this code: amber lantern seven.");
      await converse(page, "what is the code?");
      await headerSays(page, "Ready");
      await picture(page, `test-400-${ending}`);
      await page.getByRole("tab", { name: "Overview" }).click();
      await picture(page, `overview-400-${ending}`);
      await page.setViewportSize({ width: 900, height: 640 });
      await picture(page, `page-900-${ending}`);
      await page.setViewportSize({ width: 1200, height: 800 });
      await picture(page, `page-1200-${ending}`);
      await page.context().close();
    }
  }
  const page = await openPage(t, browser, server);
  await headerSays(page, "Ready");
  server.child.kill("SIGKILL");
  await page.getByText(/^What you see is ([5-9]|\d\d) s old\.$/).waitFor();
  await picture(page, "lost-400-light");
  if (IS_MACOS) return t.diagnostic("docs/images shows the page as Linux draws it: left as it is");
  await keep(t);
});

async function picture(page, name) {
  await page.mouse.move(0, 0);
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

async function keep(t) {
  mkdirSync(DOCUMENTS, { recursive: true });
  const page = await browser.newPage();
  for (const name of KEPT) {
    const [fresh, kept] = [join(PICTURES, `${name}.png`), join(DOCUMENTS, `${name}.png`)];
    const differs = existsSync(kept) ? await page.evaluate(share, [fresh, kept].map(dataUrl)) : 1;
    assert.ok(differs >= 0 && differs <= 1, `${name}: ${differs}`);
    if (differs <= NOTICEABLE) continue;
    copyFileSync(fresh, kept);
    t.diagnostic(`docs/images/${name}.png is new: ${Math.round(differs * 100)} % of it differs`);
  }
}

function dataUrl(file) {
  return `data:image/png;base64,${readFileSync(file).toString("base64")}`;
}

/** Runs in a page: the share of pixels that differ so that a person sees it. */
async function share(urls) {
  const [fresh, kept] = await Promise.all(
    urls.map(async (url) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    }),
  );
  if (fresh.width !== kept.width || fresh.height !== kept.height) return 1;
  let differing = 0;
  for (let at = 0; at < fresh.data.length; at += 4) {
    const by = [0, 1, 2].map((part) => Math.abs(fresh.data[at + part] - kept.data[at + part]));
    if (Math.max(...by) > 32) differing++;
  }
  return (differing * 4) / fresh.data.length;
}
