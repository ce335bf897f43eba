import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { CompletionFailed, streamCompletion, type Piece } from "./completion.js";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A real socket with a scripted answer: what is tested is fetch, streaming and abort as they are. */
async function serve(answer: RequestListener): Promise<typeof fetch> {
  const listening = createServer(answer);
  server = listening;
  await new Promise<void>((done) => listening.listen(0, "127.0.0.1", done));
  const { port } = listening.address() as AddressInfo;
  return (path, init) => fetch(`http://127.0.0.1:${port}${String(path)}`, init);
}

async function collect(send: typeof fetch, signal = new AbortController().signal): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for await (const piece of streamCompletion("m", [{ role: "user", content: "hi" }], signal, send)) {
    pieces.push(piece);
  }
  return pieces;
}

async function troubleOf(run: Promise<unknown>): Promise<CompletionFailed["trouble"]> {
  const cause: unknown = await run.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(cause instanceof CompletionFailed)) throw new Error(`no trouble but ${String(cause)}`);
  return cause.trouble;
}

const text = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;

describe("streamed completion", () => {
  it("brings_text_finish_reason_and_figures", async () => {
    const end = {
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 5 } },
      metrics: { queue_wait_ms: 1, load_ms: 0, prefill_ms: 20, generation_ms: 100, total_ms: 121 },
    };
    let sent = "";
    const send = await serve((request, response) => {
      request.on("data", (bytes: Buffer) => (sent += bytes.toString()));
      request.on("end", () => {
        response.write(text("amber ") + text("lantern"));
        response.write('data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n');
        response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
      });
    });
    const pieces = await collect(send);
    expect(pieces.map((piece) => piece.text).join("")).toBe("amber lantern");
    expect(pieces.some((piece) => piece.finishReason === "stop")).toBe(true);
    expect(pieces.at(-1)?.figures).toEqual({
      completionTokens: 4,
      promptTokens: 10,
      cachedTokens: 5,
      queueWaitMs: 1,
      loadMs: 0,
      prefillMs: 20,
      generationMs: 100,
      totalMs: 121,
    });
    expect(JSON.parse(sent)).toMatchObject({
      model: "m",
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("reports_an_error_before_the_stream_in_words", async () => {
    const send = await serve((_, response) => {
      response.writeHead(503, { "content-type": "application/json" });
      response.end('{"error":{"type":"governor_refused","message":"need 29 GB","retryable":true}}');
    });
    const trouble = await troubleOf(collect(send));
    expect(trouble.happened).toContain("memory");
    expect(trouble.detail).toBe("governor_refused: need 29 GB");
    expect(trouble.remedy).toBe("retry");
  });

  it("reports_an_error_inside_the_stream_by_its_code", async () => {
    const send = await serve((_, response) => {
      response.end(
        `${text("am")}data: {"error":{"type":"server_error","code":"worker_crashed","message":"m"}}\n\n`,
      );
    });
    expect((await troubleOf(collect(send))).detail).toBe("worker_crashed: m");
  });

  it("never_takes_a_stream_without_its_end_for_an_answer", async () => {
    const send = await serve((_, response) => response.end(text("amber")));
    expect((await troubleOf(collect(send))).happened).toContain("middle of the answer");
  });

  it("tells_a_cut_connection_from_a_server_that_is_not_there", async () => {
    const cut = await serve((_, response) => {
      response.write(text("amber"), () => setTimeout(() => response.destroy(), 20));
    });
    expect((await troubleOf(collect(cut))).happened).toContain("middle of the answer");
    server?.close();
    const gone = () => Promise.reject(new TypeError("refused"));
    expect((await troubleOf(collect(gone))).happened).toContain("not reached");
  });

  it("closes_the_connection_when_it_is_stopped", async () => {
    let closed: (value: string) => void;
    const seen = new Promise<string>((done) => (closed = done));
    const send = await serve((_, response) => {
      response.on("close", () => closed("closed"));
      response.write(text("amber"));
    });
    const abort = new AbortController();
    const run = (async () => {
      for await (const piece of streamCompletion("m", [], abort.signal, send)) {
        if (piece.text) abort.abort();
      }
    })();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    expect(await seen).toBe("closed");
  });
});
