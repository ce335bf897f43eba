/** Takes server-sent events apart, however the bytes were cut on their way. */
export class EventStreamDecoder {
  #decoder = new TextDecoder();
  #pending = "";
  #dataLines: string[] = [];

  /** Feeds bytes; returns the `data` of every event that is now complete. */
  push(bytes: Uint8Array): string[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const events: string[] = [];
    for (;;) {
      const line = this.#takeLine();
      if (line === null) return events;
      if (line === "") {
        if (this.#dataLines.length > 0) events.push(this.#dataLines.join("\n"));
        this.#dataLines = [];
      } else if (line.startsWith("data:")) {
        this.#dataLines.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
  }

  #takeLine(): string | null {
    const end = this.#pending.search(/\r|\n/);
    if (end < 0) return null;
    const isReturn = this.#pending[end] === "\r";
    // A lone "\r" at the very end may be the first half of "\r\n".
    if (isReturn && end + 1 === this.#pending.length) return null;
    const width = isReturn && this.#pending[end + 1] === "\n" ? 2 : 1;
    const line = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end + width);
    return line;
  }
}
