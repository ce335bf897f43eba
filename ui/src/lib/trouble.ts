/** What the page offers a person to do about a trouble. */
export type Remedy = "retry" | "new_conversation" | "start_service" | "overview" | "none";

/** A trouble in a person's words: what happened, what to do, and the server's own words. */
export interface Trouble {
  happened: string;
  cure: string;
  remedy: Remedy;
  detail: string | null;
}

/** The part of the server's error object the page reads. */
export interface ServerError {
  code: string;
  message: string;
  retryable: boolean;
}

interface Words {
  happened: string;
  cure: string;
  remedy?: Remedy;
}

const WORDS: Record<string, Words> = {
  context_length_exceeded: {
    happened: "This conversation is longer than the model can read.",
    cure: "Start a new conversation, or send a shorter message.",
    remedy: "new_conversation",
  },
  worker_busy: { happened: "The model is busy with another request.", cure: "Try again in a moment." },
  queue_full: { happened: "Too many requests are waiting already.", cure: "Try again in a moment." },
  worker_crashed: {
    happened: "The model's process ended in the middle of the answer.",
    cure: "It is being started again. Try again.",
  },
  worker_stalled: {
    happened: "The model stopped making progress and was ended.",
    cure: "It is being started again. Try again.",
  },
  worker_not_ready: { happened: "The model is not ready yet.", cure: "Wait a few seconds, then try again." },
  worker_failed: {
    happened: "The model could not be started.",
    cure: "The overview says why, and what to do.",
    remedy: "overview",
  },
  governor_refused: {
    happened: "There is not enough free memory for this model.",
    cure: "Close other programs or unload another model, then try again.",
  },
  runtime_unverified: {
    happened: "The Python runtime is not the one Hangar was built for.",
    cure: "Run “hangar runtime repair” in a terminal, then try again.",
    remedy: "retry",
  },
  stopped: {
    happened: "The service is stopped and takes no requests.",
    cure: "Start it, then ask again.",
    remedy: "start_service",
  },
  shutting_down: {
    happened: "The server is shutting down.",
    cure: "Start it again, then try again.",
    remedy: "retry",
  },
  timeout: { happened: "The answer took too long and was ended.", cure: "Try again, or ask for less." },
  payload_too_large: {
    happened: "This conversation is too large to send.",
    cure: "Start a new conversation.",
    remedy: "new_conversation",
  },
  model_not_found: {
    happened: "The server does not have this model.",
    cure: "Reload this page to see which models it has.",
  },
};

/** Words for an error the server reported. */
export function troubleFromServer(error: ServerError): Trouble {
  const words = WORDS[error.code];
  const fallbackRemedy: Remedy = error.retryable ? "retry" : "none";
  return {
    happened: words?.happened ?? "The server could not answer this request.",
    cure: words?.cure ?? (error.retryable ? "Try again in a moment." : "The server's own words are below."),
    remedy: words?.remedy ?? fallbackRemedy,
    detail: `${error.code}: ${error.message}`,
  };
}

/** Words for a connection that could not be made or broke. */
export function troubleFromConnection(receivedText: boolean): Trouble {
  return {
    happened: receivedText
      ? "The connection broke in the middle of the answer."
      : "The server was not reached.",
    cure: "Check that Hangar is running, then try again.",
    remedy: "retry",
    detail: null,
  };
}

/** Reads `{error:{code|type, message, retryable}}`; null when `body` is something else. */
export function readServerError(body: unknown): ServerError | null {
  if (typeof body !== "object" || body === null || !("error" in body)) return null;
  const error: unknown = body.error;
  if (typeof error !== "object" || error === null) return null;
  const fields = error as Record<string, unknown>;
  const code = typeof fields.code === "string" ? fields.code : fields.type;
  return {
    code: typeof code === "string" ? code : "unknown",
    message: typeof fields.message === "string" ? fields.message : "",
    retryable: fields.retryable === true,
  };
}
