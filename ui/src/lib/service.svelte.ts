import {
  ageText,
  describe,
  readModels,
  readReadiness,
  type Condition,
  type Model,
  type Readiness,
} from "./readiness.js";

/** Where the state comes from; the page uses fetch, the tests a script. */
export interface ServiceSource {
  getJson(path: string): Promise<unknown>;
  nowMs(): number;
}

const POLL_EVERY_MS = 2000;
const TICK_EVERY_MS = 1000;
const GIVE_UP_AFTER_MS = 3000;

/** What the header shows: the server's last word, and whether it is still current. */
export class ServiceState {
  readiness = $state<Readiness | null>(null);
  models = $state<Model[]>([]);
  /** True from the first failed question to the next answer. */
  lost = $state(false);
  #nowMs = $state(0);
  #heardAtMs = $state<number | null>(null);
  #stateSinceMs = $state(0);
  #asking = false;
  #source: ServiceSource;

  constructor(source: ServiceSource) {
    this.#source = source;
    this.#nowMs = source.nowMs();
  }

  /** The state in words; the last known one while the server is lost. */
  get condition(): Condition {
    if (this.readiness === null) {
      return this.lost
        ? { shape: "slashed", tone: "bad", word: "Server not reached", elapsedS: null, note: null }
        : { shape: "hollow", tone: "quiet", word: "Connecting…", elapsedS: null, note: null };
    }
    const inStateS = Math.max(0, Math.floor((this.#nowMs - this.#stateSinceMs) / 1000));
    return describe(this.readiness, inStateS);
  }

  /** How old the shown values are, while the server is lost; null before the first answer. */
  get age(): string | null {
    return this.#heardAtMs === null ? null : ageText(this.#nowMs - this.#heardAtMs);
  }

  /** The model a message goes to when the person picked none. */
  get defaultModel(): Model | null {
    const id = this.readiness?.modelId;
    return this.models.find((model) => model.id === id) ?? this.models[0] ?? null;
  }

  /** Asks the server once; a question still open is not asked twice. */
  async poll(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const readiness = readReadiness(await this.#source.getJson("/ready"));
      if (readiness === null) throw new Error("not this server's answer");
      if (this.lost || this.models.length === 0)
        this.models = readModels(await this.#source.getJson("/v1/models"));
      this.tick();
      if (readiness.state !== this.readiness?.state) this.#stateSinceMs = this.#nowMs;
      this.readiness = readiness;
      this.#heardAtMs = this.#nowMs;
      this.lost = false;
    } catch {
      this.tick();
      this.lost = true;
    } finally {
      this.#asking = false;
    }
  }

  /** Lets shown ages and seconds move on. */
  tick(): void {
    this.#nowMs = this.#source.nowMs();
  }

  /** Keeps asking until the returned function is called. */
  follow(): () => void {
    void this.poll();
    const polls = setInterval(() => void this.poll(), POLL_EVERY_MS);
    const ticks = setInterval(() => this.tick(), TICK_EVERY_MS);
    return () => {
      clearInterval(polls);
      clearInterval(ticks);
    };
  }
}

/** The page's own server, asked with fetch. */
export const OWN_SERVER: ServiceSource = {
  nowMs: () => performance.now(),
  async getJson(path) {
    // /ready answers 503 with the same body when nothing can be served: the body counts, not the status.
    const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(GIVE_UP_AFTER_MS) });
    return (await response.json()) as unknown;
  },
};
