// npm run icons: makes every picture from its SVG source and records in made.json what it was made from.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { icnsSizes, writeIcns } from "./icns.mjs";

const ICONS = import.meta.dirname;
const APP_SIZES = [16, 32, 64, 128, 256, 512, 1024];
const TRAY_POINTS = 22;

/** The menu-bar states, each with a source tray/STATE.svg. */
export const TRAY_STATES = ["stopped", "loading", "ready", "busy", "trouble"];

/** Every picture: {path, source, size}, paths inside this folder; the container has no size of its own. */
export const PICTURES = [
  ...APP_SIZES.map((size) => ({ path: `app/${size}.png`, source: "app.svg", size })),
  ...TRAY_STATES.flatMap((state) =>
    [1, 2].map((scale) => ({
      path: `tray/${state}${scale === 2 ? "@2x" : ""}.png`,
      source: `tray/${state}.svg`,
      size: TRAY_POINTS * scale,
    })),
  ),
  { path: "icon.icns", source: "app.svg", size: null },
];

/** What is recorded of a picture: its source and its own content. */
export function recordOf({ path, source }) {
  return { source, source_sha256: hashOf(source), sha256: hashOf(path) };
}

async function makeAll() {
  // Only here, so that the test of staleness needs no renderer.
  const { Resvg } = await import("@resvg/resvg-js");
  const svgs = new Map(PICTURES.map(({ source }) => [source, readFileSync(join(ICONS, source), "utf8")]));
  const png = (source, size) =>
    new Resvg(svgs.get(source), { fitTo: { mode: "width", value: size } }).render().asPng();
  for (const { path, source, size } of PICTURES) {
    write(path, size === null ? writeIcns((pixels) => png(source, pixels)) : png(source, size));
  }
  const records = Object.fromEntries(PICTURES.map((picture) => [picture.path, recordOf(picture)]));
  write("made.json", `${JSON.stringify(records, null, 2)}\n`);
  process.stdout.write(`made ${PICTURES.length} pictures, icon.icns of ${icnsSizes.length} sizes\n`);
}

function write(path, content) {
  const whole = join(ICONS, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(`${whole}.new`, content);
  renameSync(`${whole}.new`, whole);
}

function hashOf(path) {
  return createHash("sha256")
    .update(readFileSync(join(ICONS, path)))
    .digest("hex");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await makeAll();
