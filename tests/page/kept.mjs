// The pictures of the documents: a fresh one takes the place of an old one that looks otherwise.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BUILD, inClone } from "../../.ci/setup/places.mjs";

/** Where tests put all their pictures. */
export const PICTURES = join(BUILD, "pictures");
const DOCUMENTS = inClone("docs/images");
/** Figures differ from run to run; more than this is another look. */
const NOTICEABLE = 0.02;

/** Puts fresh pictures with these names into the documents where they look otherwise than those kept there. */
export async function keep(t, browser, names) {
  mkdirSync(DOCUMENTS, { recursive: true });
  const page = await browser.newPage();
  for (const name of names) {
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
