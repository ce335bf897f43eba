/** One server-sent event. */
export interface ServerEvent {
  /** What `event:` says; "message" where it says nothing. */
  name: string;
  data: string;
}

/** Takes server-sent events apart, however the bytes were cut on their way. */
export class EventStreamDecoder {
  #decoder = new TextDecoder();
  #pending = "";
  #dataLines: string[] = [];
  #name = "message";

  /** Feeds bytes; returns every event that is now complete. */
  push(bytes: Uint8Array): ServerEvent[] {
    this.#pending += this.#decoder.decode(bytes, { stream: true });
    const events: ServerEvent[] = [];
    for (;;) {
      const line = this.#takeLine();
      if (line === null) return events;
      if (line === "") {
        if (this.#dataLines.length > 0) events.push({ name: this.#name, data: this.#dataLines.join("\n") });
        this.#dataLines = [];
        this.#name = "message";
      } else if (line.startsWith("data:")) {
        this.#dataLines.push(valueOf(line, "data:"));
      } else if (line.startsWith("event:")) {
        this.#name = valueOf(line, "event:");
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

function valueOf(line: string, field: string): string {
  return line.slice(line[field.length] === " " ? field.length + 1 : field.length);
}
