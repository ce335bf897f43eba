// Stamps: what a step was made from, written when it is done, so that it need not be done again.
import { createHash } from "node:crypto";
import {
  mkdirSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { BUILD, CLONE } from "./places.mjs";

const NEVER = new Set([
  "node_modules",
  "dist",
  "target",
  "__pycache__",
  ".mypy_cache",
  ".ruff_cache",
  ".pytest_cache",
]);

/** Hash over the content of files and folders (paths inside the clone) and over `facts`. */
export function fingerprint(paths, facts = []) {
  const hash = createHash("sha256").update(JSON.stringify(facts));
  for (const file of paths.flatMap((path) => filesUnder(join(CLONE, path)))) {
    const content = readFileSync(file);
    hash.update(`\n${relative(CLONE, file)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

/** What the stamp `name` of this clone says; null when there is none. */
export function readStamp(name) {
  return readText(join(BUILD, "stamps", name));
}

/** Writes the stamp `name`: only after everything it stands for is in place. */
export function writeStamp(name, value) {
  writeWhole(join(BUILD, "stamps", name), value);
}

/** Takes the stamp `name` back: before anything it stands for is touched. */
export function clearStamp(name) {
  rmSync(join(BUILD, "stamps", name), { force: true });
}

/** A file's trimmed text; null when it cannot be read. */
export function readText(path) {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}

/** Writes a file so that it is never seen half-made. */
export function writeWhole(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}.new`;
  const file = openSync(beside, "w");
  writeSync(file, `${text}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(beside, path);
}

function filesUnder(path) {
  const kind = statSync(path, { throwIfNoEntry: false });
  if (kind === undefined) return [];
  if (!kind.isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !NEVER.has(entry.name) && !entry.name.endsWith(".pyc"))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isSymbolicLink() ? [] : filesUnder(join(path, entry.name))));
}
