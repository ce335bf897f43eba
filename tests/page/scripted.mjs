// An answer no small model would give: very long, or full of markup. Only the answer is scripted; server and page are real.

/** Runs in the page before its own scripts. */
export function answerWith({ text, pieceCharacters, overMs }) {
  const real = window.fetch;
  const event = (chunk) =>
    new TextEncoder().encode(`data: ${typeof chunk === "string" ? chunk : JSON.stringify(chunk)}\n\n`);
  window.fetch = (path, init) => {
    if (path !== "/v1/chat/completions") return real(path, init);
    const began = performance.now();
    let at = 0;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        const due = Math.min(text.length, Math.ceil((text.length * (performance.now() - began)) / overMs));
        while (at < due) {
          const content = text.slice(at, at + pieceCharacters);
          at += content.length;
          controller.enqueue(event({ choices: [{ delta: { content }, finish_reason: null }] }));
        }
        if (at < text.length) return;
        controller.enqueue(event({ choices: [{ delta: {}, finish_reason: "stop" }] }));
        controller.enqueue(event("[DONE]"));
        controller.close();
      },
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}
