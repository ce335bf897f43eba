// Tells each turn of a client in one line, where HANGAR_TELL_TURNS is set: what was asked, what was answered.

const LONGEST = 60;

/** A fetch that tells its turns; what is read of it is what a plain one gives. */
export async function tellingFetch(url, init) {
  if (!process.env.HANGAR_TELL_TURNS || !String(url).endsWith("/chat/completions")) return fetch(url, init);
  const answer = await fetch(url, init).catch((cause) => {
    tell(init.body, cause.name, []);
    throw cause;
  });
  const heard = [];
  let isTold = false;
  const ended = () => {
    if (!isTold) tell(init.body, answer.status, heard);
    isTold = true;
  };
  const listener = new TransformStream({
    transform(part, controller) {
      heard.push(part);
      controller.enqueue(part);
      // Many read no further than that.
      if (Buffer.from(part).includes("data: [DONE]")) ended();
    },
    flush: ended,
  });
  init.signal?.addEventListener("abort", ended, { once: true });
  return new Response(answer.body.pipeThrough(listener), answer);
}

function tell(request, status, heard) {
  const { messages, stream } = JSON.parse(request);
  const { role, content } = messages.at(-1);
  const answered =
    heard.length === 0 ? `left by the client (${status})` : answerOf(status, Buffer.concat(heard).toString());
  const how = stream ? "streamed" : "whole";
  process.stdout.write(`  turn   ${role}: ${short(content)} → ${how}, ${answered}\n`);
}

function answerOf(status, text) {
  const events = text.startsWith("data: ")
    ? text
        .split("\n\n")
        .slice(0, -1)
        .map((event) => event.slice("data: ".length))
    : [text];
  const parts = events.filter((event) => event.startsWith("{")).map((event) => JSON.parse(event));
  const { error } = parts.find((part) => part.error) ?? {};
  if (error) return `${status} ${error.code}: ${short(error.message)}`;
  const choices = parts.flatMap((part) => part.choices);
  const said = choices.map(({ message, delta }) => message ?? delta);
  const called = said.flatMap((each) => each.tool_calls ?? []).map((call) => call.function);
  const calls = called.map(({ name = "", arguments: written }) => name + written).join("");
  const content = said.map((each) => each.content ?? "").join("");
  const end = choices.find((choice) => choice.finish_reason)?.finish_reason ?? "left by the client";
  return `${end}: ${calls || short(content)}`;
}

function short(content) {
  const text = JSON.stringify(content ?? null);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}
