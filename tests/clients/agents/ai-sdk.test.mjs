// Vercel's AI SDK: text, stream, tool loop, object. Every turn is printed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { callOf, MODEL, quoted, serveScripted } from "./scripted.mjs";

const modelOf = ({ url }) =>
  createOpenAICompatible({
    name: "hangar",
    baseURL: `${url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
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
  t.diagnostic(`generateText: ${whole.text}`);
  const stream = streamText({ model, prompt: "hello.", maxRetries: 0 });
  let streamed = "";
  for await (const text of stream.textStream) streamed += text;
  t.diagnostic(`streamText: ${streamed}`);
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
    for (const step of steps) t.diagnostic(`${step.finishReason}: ${step.text || JSON.stringify(asked)}`);
    assert.deepEqual(asked, [{ days: 3, place: "Bad Ems" }]);
    assert.equal(text, "it rains in Bad Ems.");
    assert.deepEqual(
      steps.map((step) => step.finishReason),
      ["tool-calls", "stop"],
    );
  });
}

test("an object of a schema is asked for and read", async (t) => {
  const model = modelOf(await serveScripted(t, [['{"place":"Bad Ems",', '"days":3}']]));
  const output = Output.object({ schema: z.object({ place: z.string(), days: z.number() }) });
  const answer = await generateText({ model, output, prompt: "where?", maxRetries: 0 });
  t.diagnostic(`object: ${JSON.stringify(answer.output)}`);
  assert.deepEqual(answer.output, { place: "Bad Ems", days: 3 });
});
