import { Backoff } from "./backoff.js";
import { NotThisServer, type Heard } from "./events.js";
import type { PanelSnapshot } from "./generated/panel.js";
import { MemoryHistory } from "./history.svelte.js";
import { KeyWanted } from "./key.js";

/** How the page stands with its server. */
export type Link = "connecting" | "live" | "resting" | "lost" | "foreign" | "locked";

/** Where the page hears from; the page uses fetch, the tests a script. */
export interface PanelSource {
  open(signal: AbortSignal): AsyncIterable<Heard>;
  nowMs(): number;
}

/** The server comments every 5 s; twice that and a bit is no pause but a dead connection. */
export const SILENCE_MS = 12_000;
/** How long the first word may take. */
export const FIRST_WORD_MS = 10_000;
const TICK_MS = 1000;

/** What the server last said, and whether that is still so. */
export class Panel {
  snapshot = $state.raw<PanelSnapshot | null>(null);
  link = $state<Link>("connecting");
  nowMs = $state(0);
  /** When the next try is due, while the server is lost. */
  nextTryMs = $state<number | null>(null);
  /** How often the server has wanted a key, or another one. */
  refusals = $state(0);
  readonly history = new MemoryHistory();
  #heardMs = $state<number | null>(null);
  #source: PanelSource;
  #backoff = new Backoff();
  #attempt: AbortController | null = null;
  #tryNow: (() => void) | null = null;
  #ended = false;
  /** Set while nobody looks: goes on. */
  #resume: (() => void) | null = null;
  #resumed: Promise<void> | null = null;
  /** True when it was a rest that ended the stream. */
  #interrupted = false;

  constructor(source: PanelSource) {
    this.#source = source;
    this.nowMs = source.nowMs();
  }

  /** True while what is shown may not be so any more. */
  get stale(): boolean {
    return this.link === "lost" || this.link === "foreign" || this.link === "locked";
  }

  /** How old the shown values are; null before the first ones. */
  get ageMs(): number | null {
    return this.#heardMs === null ? null : Math.max(0, this.nowMs - this.#heardMs);
  }

  /** Lets ages and seconds move on. */
  tick(): void {
    this.nowMs = this.#source.nowMs();
    this.history.note(this.nowMs, this.link === "live" ? (this.snapshot?.memory ?? null) : null);
  }

  /** Tries at once instead of waiting. */
  tryNow(): void {
    this.#tryNow?.();
  }

  /** Gives up a try that is under way, and tries anew. */
  tryAnew(): void {
    this.#interrupted = true;
    this.#attempt?.abort();
    this.tryNow();
  }

  /** Gives the connection back until somebody looks again. */
  rest(): void {
    if (this.#resumed !== null) return;
    this.#resumed = new Promise((resolve) => (this.#resume = resolve));
    if (this.link === "live") this.link = "resting";
    this.tryAnew();
  }

  /** Follows again after a rest. */
  resume(): void {
    this.#resume?.();
    this.#resume = null;
    this.#resumed = null;
  }

  /** Follows the server until the returned function is called. */
  follow(): () => void {
    this.#ended = false;
    void this.#run();
    const ticks = setInterval(() => this.tick(), TICK_MS);
    return () => {
      this.#ended = true;
      clearInterval(ticks);
      this.#attempt?.abort();
      this.tryNow();
      this.resume();
    };
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      if (this.#resumed !== null) {
        await this.#resumed;
        continue;
      }
      this.#interrupted = false;
      const link = await this.#listen();
      if (this.#ended) return;
      if (this.#interrupted) continue;
      this.#lose(link);
      await this.#pause(this.#backoff.next());
    }
  }

  /** Hears until the stream ends, breaks or falls silent; says what that makes of the link. */
  async #listen(): Promise<Link> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    let known = false;
    let silence = setTimeout(() => attempt.abort(), FIRST_WORD_MS);
    try {
      for await (const heard of this.#source.open(attempt.signal)) {
        clearTimeout(silence);
        silence = setTimeout(() => attempt.abort(), SILENCE_MS);
        // A word from whoever answers is no word from our server.
        if (heard.kind === "snapshot") known = true;
        if (known) this.#hear(heard);
      }
      return "lost";
    } catch (cause) {
      if (cause instanceof KeyWanted) return "locked";
      return cause instanceof NotThisServer ? "foreign" : "lost";
    } finally {
      clearTimeout(silence);
    }
  }

  #hear(heard: Heard): void {
    this.#heardMs = this.#source.nowMs();
    if (heard.kind === "alive") return;
    this.snapshot = heard.snapshot;
    this.link = "live";
    this.nextTryMs = null;
    this.#backoff.reset();
    this.tick();
  }

  #lose(link: Link): void {
    this.link = link;
    if (link === "locked") this.refusals += 1;
    this.tick();
  }

  #pause(waitMs: number): Promise<void> {
    this.nextTryMs = this.#source.nowMs() + waitMs;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#tryNow = () => {
        clearTimeout(timer);
        this.#tryNow = null;
        resolve();
      };
    });
  }
}
