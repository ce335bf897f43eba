// Vercel's AI SDK: text, stream, tool loop, object. Every turn is printed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";
import { tellingFetch } from "../telling.mjs";
import { callOf, MODEL, quoted, serveScripted } from "./scripted.mjs";

const modelOf = ({ url }) =>
  createOpenAICompatible({
    name: "hangar",
    baseURL: `${url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: tellingFetch,
  })(MODEL);

const weather = (asked) =>
  tool({
    description: "Weather of a place",
    inputSchema: z.object({ place: z.string(), days: z.number().int() }),
    execute: (input) => {
      asked.push(input);
      return "rain";
    },
  });

test("a text is answered, whole and streamed alike, with its counts", async (t) => {
  const model = modelOf(await serveScripted(t, [["hello ", "world"]]));
  const whole = await generateText({ model, prompt: "hello.", maxRetries: 0 });
  const stream = streamText({ model, prompt: "hello.", maxRetries: 0 });
  let streamed = "";
  for await (const text of stream.textStream) streamed += text;
  assert.equal(whole.text, "hello world");
  assert.equal(streamed, whole.text);
  assert.equal(whole.finishReason, "stop");
  assert.deepEqual((await stream.usage).inputTokens, whole.usage.inputTokens);
  assert.ok(whole.usage.inputTokens > 0 && whole.usage.outputTokens > 0);
});

for (const [name, run] of [
  ["whole", generateText],
  [
    "streamed",
    async (options) => {
      const stream = streamText(options);
      await stream.consumeStream();
      return { text: await stream.text, steps: await stream.steps };
    },
  ],
]) {
  test(`a tool is called with its typed arguments, and its result answered, ${name}`, async (t) => {
    const call = callOf("weather", ["{days:3,place:", quoted("Bad Ems"), "}"].flat());
    const model = modelOf(await serveScripted(t, [call, ["it rains in Bad Ems."]]));
    const asked = [];
    const tools = { weather: weather(asked) };
    const options = { model, tools, prompt: "weather?", stopWhen: stepCountIs(3), maxRetries: 0 };
    const { text, steps } = await run(options);
    assert.deepEqual(asked, [{ days: 3, place: "Bad Ems" }]);
    assert.equal(text, "it rains in Bad Ems.");
    assert.deepEqual(
      steps.map((step) => step.finishReason),
      ["tool-calls", "stop"],
    );
  });
}

const Place = z.object({ place: z.string(), days: z.number() });
const PLACE = ['{"place":"Bad Ems",', '"days":3}'];

test("an object of a schema is asked for and read", async (t) => {
  const model = modelOf(await serveScripted(t, [PLACE]));
  const asked = { model, prompt: "where?", maxRetries: 0 };
  const { output } = await generateText({ ...asked, output: Output.object({ schema: Place }) });
  const { object } = await generateObject({ ...asked, schema: Place });
  const stream = streamObject({ ...asked, schema: Place });
  const grown = [];
  for await (const part of stream.partialObjectStream) grown.push(part);
  assert.deepEqual(output, { place: "Bad Ems", days: 3 });
  assert.deepEqual([object, await stream.object, grown.at(-1)], [output, output, output]);
});

test("several calls of one answer and of several steps are made, streamed, until words come", async (t) => {
  const place = (name, days) => callOf("weather", [`{days:${days},place:`, quoted(name), "}"].flat());
  const both = [...place("Bad Ems", 1).slice(0, -1), ...place("Ulm", 2)];
  const model = modelOf(await serveScripted(t, [both, place("Celle", 3), ["rain, rain, rain."]]));
  const asked = [];
  const stream = streamText({
    model,
    tools: { weather: weather(asked) },
    prompt: "weather?",
    stopWhen: stepCountIs(5),
    maxRetries: 0,
  });
  const kinds = [];
  for await (const part of stream.fullStream) kinds.push(part.type);
  assert.deepEqual(
    asked.map(({ place: name, days }) => [name, days]),
    [
      ["Bad Ems", 1],
      ["Ulm", 2],
      ["Celle", 3],
    ],
  );
  assert.equal(kinds.filter((kind) => kind === "tool-result").length, 3);
  assert.ok(!kinds.includes("error") && !kinds.includes("tool-error"));
  assert.equal(await stream.text, "rain, rain, rain.");
});
