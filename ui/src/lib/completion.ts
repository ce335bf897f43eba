import { EventStreamDecoder } from "./sse.js";
import { readServerError, troubleFromConnection, troubleFromServer, type Trouble } from "./trouble.js";

/** One message as it is sent. */
export interface SentMessage {
  role: "user" | "assistant";
  content: string;
}

/** What one event of a streamed answer brings. */
export interface Piece {
  text: string;
  reasoning: string;
  finishReason: string | null;
  figures: Figures | null;
}

/** Figures the server reports with the end of an answer. */
export interface Figures {
  completionTokens: number | null;
  promptTokens: number | null;
  cachedTokens: number | null;
  queueWaitMs: number | null;
  loadMs: number | null;
  prefillMs: number | null;
  generationMs: number | null;
  totalMs: number | null;
}

/** A request that ended in trouble, in a person's words. */
export class CompletionFailed extends Error {
  constructor(readonly trouble: Trouble) {
    super(trouble.happened);
  }
}

/** Streams one answer; ends normally only after the server said it is done. */
export async function* streamCompletion(
  model: string | null,
  messages: SentMessage[],
  signal: AbortSignal,
  send: typeof fetch = fetch,
): AsyncGenerator<Piece> {
  const response = await begin(model, messages, signal, send);
  const decoder = new EventStreamDecoder();
  let receivedText = false;
  for await (const bytes of chunks(response, () => receivedText)) {
    for (const event of decoder.push(bytes)) {
      if (event.data === "[DONE]") return;
      const piece = readPiece(event.data);
      receivedText ||= piece.text !== "";
      yield piece;
    }
  }
  throw new CompletionFailed(troubleFromConnection(receivedText));
}

async function begin(
  model: string | null,
  messages: SentMessage[],
  signal: AbortSignal,
  send: typeof fetch,
): Promise<Response> {
  let response: Response;
  try {
    response = await send("/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...(model === null ? {} : { model }),
        messages,
        stream: true,
        stream_options: { include_usage: true },
      }),
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new CompletionFailed(troubleFromConnection(false));
  }
  if (response.ok) return response;
  const error = readServerError(await response.json().catch(() => null));
  throw new CompletionFailed(
    troubleFromServer(error ?? { code: `status ${response.status}`, message: "", retryable: false }),
  );
}

async function* chunks(response: Response, receivedText: () => boolean): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new CompletionFailed(troubleFromConnection(receivedText()));
  } finally {
    // Leaving early must also end the request, or the model would go on for nobody.
    await reader.cancel().catch(() => undefined);
  }
}

function readPiece(event: string): Piece {
  let body: unknown;
  try {
    body = JSON.parse(event);
  } catch {
    throw new CompletionFailed(
      troubleFromServer({ code: "backend_format_error", message: "an event was not JSON", retryable: true }),
    );
  }
  const error = readServerError(body);
  if (error !== null) throw new CompletionFailed(troubleFromServer(error));
  const chunk = body as Chunk;
  const choice = chunk.choices?.[0];
  return {
    text: choice?.delta?.content ?? "",
    reasoning: choice?.delta?.reasoning_content ?? "",
    finishReason: choice?.finish_reason ?? null,
    figures: readFigures(chunk),
  };
}

interface Chunk {
  choices?: {
    delta?: { content?: string | null; reasoning_content?: string | null };
    finish_reason?: string | null;
  }[];
  usage?: {
    prompt_tokens?: number;
    completion_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number } | null;
  } | null;
  metrics?: {
    cached_tokens?: number | null;
    queue_wait_ms?: number | null;
    load_ms?: number | null;
    prefill_ms?: number | null;
    generation_ms?: number | null;
    total_ms?: number | null;
  } | null;
}

function readFigures({ usage, metrics }: Chunk): Figures | null {
  if (!usage && !metrics) return null;
  return {
    completionTokens: usage?.completion_tokens ?? null,
    promptTokens: usage?.prompt_tokens ?? null,
    cachedTokens: metrics?.cached_tokens ?? usage?.prompt_tokens_details?.cached_tokens ?? null,
    queueWaitMs: metrics?.queue_wait_ms ?? null,
    loadMs: metrics?.load_ms ?? null,
    prefillMs: metrics?.prefill_ms ?? null,
    generationMs: metrics?.generation_ms ?? null,
    totalMs: metrics?.total_ms ?? null,
  };
}
