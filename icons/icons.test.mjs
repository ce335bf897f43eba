// The pictures are those of their sources, and what a menu bar and an application need.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { icnsSizes, readIcns, writeIcns } from "./icns.mjs";
import { PICTURES, TRAY_STATES, recordOf } from "./make.mjs";

const read = (path) => readFileSync(join(import.meta.dirname, path));
const TRAY = TRAY_STATES.flatMap((state) => [`tray/${state}.png`, `tray/${state}@2x.png`]);

test("every_picture_is_the_one_made_from_its_source_as_it_is_now", () => {
  const made = JSON.parse(read("made.json"));
  const cure = "stale: npm run icons, then look at the pictures and commit them";
  for (const picture of PICTURES)
    assert.deepEqual(made[picture.path], recordOf(picture), `${picture.path} is ${cure}`);
  assert.deepEqual(
    Object.keys(made),
    PICTURES.map(({ path }) => path),
    `made.json is ${cure}`,
  );
});

test("no_picture_lies_here_that_the_script_does_not_make", () => {
  const there = ["app", "tray"].flatMap((folder) =>
    readdirSync(join(import.meta.dirname, folder)).map((name) => `${folder}/${name}`),
  );
  const known = PICTURES.flatMap(({ path, source }) => [path, source]);
  assert.deepEqual(
    there.filter((path) => !known.includes(path)),
    [],
  );
});

test("every_picture_has_the_size_it_is_named_for_and_transparency", () => {
  for (const { path, size } of PICTURES.filter(({ size }) => size !== null)) {
    const { width, height, pixels } = pixelsOf(read(path));
    assert.deepEqual([width, height], [size, size], path);
    assert.equal(pixels[3], 0, `${path}: its corner is not clear`);
    assert.ok(
      pixels.some((value, at) => at % 4 === 3 && value === 255),
      `${path}: nothing in it is solid`,
    );
  }
});

test("menu_bar_pictures_are_black_and_alpha_only", () => {
  for (const path of TRAY) {
    const { pixels } = pixelsOf(read(path));
    const coloured = pixels.findIndex((value, at) => at % 4 !== 3 && value !== 0);
    assert.equal(coloured, -1, `${path}: pixel ${coloured >> 2} is not black`);
  }
});

test("menu_bar_states_differ_by_shape_at_the_smallest_size", () => {
  const alphas = TRAY_STATES.map((state) => alphaOf(read(`tray/${state}.png`)));
  const different = (a, b) => a.filter((value, at) => Math.abs(value - b[at]) > 128).length;
  for (let one = 0; one < alphas.length; one++) {
    for (let other = one + 1; other < alphas.length; other++) {
      const count = different(alphas[one], alphas[other]);
      assert.ok(count >= 12, `${TRAY_STATES[one]} and ${TRAY_STATES[other]} differ in ${count} pixels`);
    }
  }
});

test("icon_container_holds_a_whole_picture_of_each_promised_size", () => {
  const entries = readIcns(read("icon.icns"));
  assert.deepEqual([...new Set(entries.map(({ size }) => size))], icnsSizes);
  for (const { type, size, png } of entries) {
    const { width, height } = pixelsOf(png);
    assert.deepEqual([width, height], [size, size], type);
  }
});

test("an_icon_container_that_is_cut_is_refused", () => {
  const whole = writeIcns((size) => Buffer.from(`picture of ${size}`));
  assert.equal(readIcns(whole)[0].png.toString(), "picture of 32");
  assert.throws(() => readIcns(whole.subarray(0, whole.length - 1)), /cut/);
});

const alphaOf = (png) => pixelsOf(png).pixels.filter((_, at) => at % 4 === 3);

/** Size and bytes of a PNG of eight-bit RGBA, the only kind the window system takes. */
function pixelsOf(png) {
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  assert.deepEqual([...png.subarray(24, 29)], [8, 6, 0, 0, 0], "eight bits, RGBA, not interlaced");
  const lines = inflateSync(Buffer.concat(parts));
  const [step, row] = [4, width * 4];
  assert.equal(lines.length, height * (row + 1));
  const pixels = new Uint8Array(height * row);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const left = x >= step ? pixels[y * row + x - step] : 0;
      const up = y > 0 ? pixels[(y - 1) * row + x] : 0;
      const corner = x >= step && y > 0 ? pixels[(y - 1) * row + x - step] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      pixels[y * row + x] = lines[y * (row + 1) + 1 + x] + guess;
    }
  }
  return { width, height, pixels };
}

function paeth(left, up, corner) {
  const far = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
  if (far[0] <= far[1] && far[0] <= far[2]) return left;
  return far[1] <= far[2] ? up : corner;
}
