/** A block is closed at the first line break beyond this length, so that what changes on the page stays small. */
const BLOCK_CHARACTERS = 2000;
/** Text without line breaks is cut at a space beyond this length. */
const LONGEST_CHARACTERS = 8000;

/** Text that grows at its end: closed blocks that never change again, and an open tail. */
export class GrowingText {
  blocks = $state.raw<readonly string[]>([]);
  tail = $state("");
  #whole = "";

  /** True before anything has come. */
  get isEmpty(): boolean {
    return this.tail === "" && this.blocks.length === 0;
  }

  /** All of it, as it came. */
  get whole(): string {
    return this.#whole;
  }

  /** Adds to the end. */
  push(piece: string): void {
    if (piece === "") return;
    this.#whole += piece;
    // What was looked through before holds no place to cut.
    let from = this.tail.length;
    let tail = this.tail + piece;
    const closed: string[] = [];
    for (let cut = cutOf(tail, from); cut !== null; cut = cutOf(tail, from)) {
      closed.push(tail.slice(0, cut.end));
      tail = tail.slice(cut.next);
      from = 0;
    }
    if (closed.length > 0) this.blocks = [...this.blocks, ...closed];
    this.tail = tail;
  }
}

/** Where a block ends and the next begins. The border is a line break on the page, so one is left out. */
function cutOf(tail: string, from: number): { end: number; next: number } | null {
  if (tail.length <= BLOCK_CHARACTERS) return null;
  let at = tail.indexOf("\n", Math.max(from, BLOCK_CHARACTERS));
  // The first break of several: the page shows none at the end of a block.
  while (at > 0 && tail[at - 1] === "\n") at = tail.indexOf("\n", at + 1);
  if (at >= 0) return { end: at, next: at + 1 };
  if (tail.length <= LONGEST_CHARACTERS) return null;
  const space = tail.lastIndexOf(" ", LONGEST_CHARACTERS);
  if (space > BLOCK_CHARACTERS) return { end: space, next: space + 1 };
  const end = isHighSurrogate(tail.charCodeAt(LONGEST_CHARACTERS - 1))
    ? LONGEST_CHARACTERS - 1
    : LONGEST_CHARACTERS;
  return { end, next: end };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
