const FIRST_MS = 250;
const LONGEST_MS = 5000;

/** Waits that double from try to try, up to a limit: short enough that a person sees the page recover by itself. */
export class Backoff {
  #nextMs = FIRST_MS;

  /** How long to wait before the next try. */
  next(): number {
    const waitMs = this.#nextMs;
    this.#nextMs = Math.min(LONGEST_MS, waitMs * 2);
    return waitMs;
  }

  /** A try has worked. */
  reset(): void {
    this.#nextMs = FIRST_MS;
  }
}
