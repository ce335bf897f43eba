const SHOWN_MS = 2000;

/** How the last copy ended, for a moment. */
export type Outcome = "idle" | "copied" | "refused";

/** Copies text and says for a moment how that went. */
export class Copying {
  outcome = $state<Outcome>("idle");
  #write: (text: string) => Promise<void>;
  #forgetting: ReturnType<typeof setTimeout> | undefined;

  constructor(write: (text: string) => Promise<void> = (text) => navigator.clipboard.writeText(text)) {
    this.#write = write;
  }

  /** Copies; a refusal is an outcome, no error. */
  async copy(text: string): Promise<void> {
    try {
      await this.#write(text);
      this.outcome = "copied";
    } catch {
      this.outcome = "refused";
    }
    clearTimeout(this.#forgetting);
    this.#forgetting = setTimeout(() => (this.outcome = "idle"), SHOWN_MS);
  }
}
