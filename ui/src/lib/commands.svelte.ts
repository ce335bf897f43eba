import { readServerError, troubleFromConnection, troubleFromServer, type Trouble } from "./trouble.js";

/** What a person can ask of the service or its worker. */
export type Command = "start" | "stop" | "load" | "unload" | "unload_now";

const ROUTES: Record<Command, { path: string; body: object }> = {
  start: { path: "/admin/service/start", body: {} },
  stop: { path: "/admin/service/stop", body: {} },
  load: { path: "/admin/worker/restart", body: {} },
  unload: { path: "/admin/worker/unload", body: {} },
  unload_now: { path: "/admin/worker/unload", body: { force: true } },
};

/** One control's commands: at most one under way, and what went wrong with the last. */
export class Commands {
  running = $state<Command | null>(null);
  trouble = $state.raw<Trouble | null>(null);
  #send: typeof fetch;
  #asking: AbortController | null = null;

  constructor(send: typeof fetch = (path, init) => fetch(path, init)) {
    this.#send = send;
  }

  /** Asks and waits for the outcome; another one under way wins. True when it worked. */
  async run(command: Command): Promise<boolean> {
    if (this.running !== null) return false;
    this.running = command;
    this.trouble = null;
    this.trouble = await this.#ask(command);
    this.running = null;
    return this.trouble === null;
  }

  /** Waits no longer for an answer that will not come. */
  giveUp(): void {
    this.#asking?.abort();
  }

  /** Forgets what went wrong. */
  forget(): void {
    this.trouble = null;
  }

  async #ask(command: Command): Promise<Trouble | null> {
    const { path, body } = ROUTES[command];
    this.#asking = new AbortController();
    try {
      const response = await this.#send(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: this.#asking.signal,
      });
      if (response.ok) return null;
      const error = readServerError(await response.json().catch(() => null));
      const unreadable = { code: `status ${response.status}`, message: "", retryable: false };
      return troubleFromServer(error ?? unreadable);
    } catch {
      return troubleFromConnection(false);
    }
  }
}
