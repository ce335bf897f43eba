// Apple's icon container: a header, then entries of type, length and a whole PNG each.

// Sizes in pixels by entry type. The 1x entries of 16 and 32 points have no PNG form that every macOS draws in an
// application; without them it scales the 2x entries down.
const SIZES = { ic11: 32, ic12: 64, ic07: 128, ic13: 256, ic08: 256, ic14: 512, ic09: 512, ic10: 1024 };
const HEADER_BYTES = 8;

/** Sizes in pixels that a container holds. */
export const icnsSizes = [...new Set(Object.values(SIZES))];

/** A container; `pngOf(size)` gives the picture of that many pixels. */
export function writeIcns(pngOf) {
  const entries = Object.entries(SIZES).map(([type, size]) => entry(type, pngOf(size)));
  return entry("icns", Buffer.concat(entries));
}

/** The entries of a container: [{type, size, png}], `size` being what the type promises. */
export function readIcns(bytes) {
  if (bytes.toString("latin1", 0, 4) !== "icns" || bytes.readUInt32BE(4) !== bytes.length)
    throw new Error("no icns container, or one that is cut");
  const entries = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += bytes.readUInt32BE(at + 4)) {
    const type = bytes.toString("latin1", at, at + 4);
    const png = bytes.subarray(at + HEADER_BYTES, at + bytes.readUInt32BE(at + 4));
    entries.push({ type, size: SIZES[type], png });
  }
  return entries;
}

function entry(type, content) {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(type, "latin1");
  header.writeUInt32BE(HEADER_BYTES + content.length, 4);
  return Buffer.concat([header, content]);
}
