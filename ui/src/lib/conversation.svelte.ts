import { CompletionFailed, type Figures, type Piece, type SentMessage } from "./completion.js";
import { GrowingText } from "./growing_text.svelte.js";
import { receiptLine } from "./receipt.js";
import { troubleFromConnection, type Trouble } from "./trouble.js";

/** How an answer stands. */
export type AnswerState = "waiting" | "streaming" | "done" | "cut_off" | "stopped" | "failed";

/** One answer and the message it answers. */
export class Turn {
  readonly question: string;
  readonly answer = new GrowingText();
  readonly reasoning = new GrowingText();
  state = $state<AnswerState>("waiting");
  trouble = $state<Trouble | null>(null);
  figures = $state<Figures | null>(null);
  firstWordMs = $state<number | null>(null);

  constructor(question: string) {
    this.question = question;
  }

  /** The one dim line under an answer. */
  get receipt(): string | null {
    return receiptLine(this.firstWordMs, this.figures);
  }
}

/** Asks for one answer as a stream of pieces. */
export type Ask = (messages: SentMessage[], signal: AbortSignal) => AsyncIterable<Piece>;

/** A conversation with one model: its turns, and at most one answer under way. */
export class Conversation {
  turns = $state<Turn[]>([]);
  #abort = $state.raw<AbortController | null>(null);
  #ask: Ask;
  #nowMs: () => number;

  constructor(ask: Ask, nowMs: () => number) {
    this.#ask = ask;
    this.#nowMs = nowMs;
  }

  /** True while an answer is under way. */
  get running(): boolean {
    return this.#abort !== null;
  }

  /** Sends a message; blank ones, and ones sent while an answer is under way, are not taken. */
  async send(question: string): Promise<boolean> {
    if (this.running || question.trim() === "") return false;
    this.turns.push(new Turn(question));
    await this.#run();
    return true;
  }

  /** Asks the last message again after it failed or was stopped. */
  async retry(): Promise<void> {
    const last = this.turns.at(-1);
    if (this.running || last === undefined) return;
    this.turns[this.turns.length - 1] = new Turn(last.question);
    await this.#run();
  }

  /** Ends the answer under way; what has arrived stays. */
  stop(): void {
    this.#abort?.abort();
  }

  /** Forgets everything. */
  clear(): void {
    this.stop();
    this.turns = [];
  }

  async #run(): Promise<void> {
    const turn = this.turns.at(-1);
    if (turn === undefined) return;
    const abort = new AbortController();
    this.#abort = abort;
    const startedMs = this.#nowMs();
    try {
      let finishReason: string | null = null;
      for await (const piece of this.#ask(this.#history(), abort.signal)) {
        if (turn.firstWordMs === null && piece.text + piece.reasoning !== "") {
          turn.firstWordMs = this.#nowMs() - startedMs;
          turn.state = "streaming";
        }
        turn.answer.push(piece.text);
        turn.reasoning.push(piece.reasoning);
        finishReason = piece.finishReason ?? finishReason;
        turn.figures = piece.figures ?? turn.figures;
      }
      turn.state = finishReason === "length" ? "cut_off" : "done";
    } catch (cause) {
      this.#end(turn, cause, abort.signal.aborted);
    } finally {
      if (this.#abort === abort) this.#abort = null;
    }
  }

  #end(turn: Turn, cause: unknown, stopped: boolean): void {
    if (stopped) {
      turn.state = "stopped";
      return;
    }
    turn.state = "failed";
    turn.trouble =
      cause instanceof CompletionFailed ? cause.trouble : troubleFromConnection(!turn.answer.isEmpty);
  }

  /** Turns that failed are left out: the model never answered them. */
  #history(): SentMessage[] {
    const last = this.turns.length - 1;
    return this.turns.flatMap((turn, index): SentMessage[] => {
      if (index === last) return [{ role: "user", content: turn.question }];
      if (turn.state === "failed" || turn.answer.isEmpty) return [];
      return [
        { role: "user", content: turn.question },
        { role: "assistant", content: turn.answer.whole },
      ];
    });
  }
}
