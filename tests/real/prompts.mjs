// Requests of every kind, short ones, each drawn from its number: the same number gives the same request.
import { dice, pick } from "./dice.mjs";

const CODES = ["amber lantern seven", "ivory dragon two", "olive anchor nine", "golden harbor zero"];
const CITIES = ["tokyo", "paris", "cairo"];
const ODD = [
  "hello",
  " ",
  "\n",
  "<|turn>",
  "<bos>",
  "<|tool_call>call:get",
  "é",
  "😀",
  "▁",
  "\u2028",
  "7",
  '<|"|>',
  "{",
];

const tool = (name, properties, required = Object.keys(properties)) => ({
  type: "function",
  function: { name, description: `${name} for you`, parameters: { type: "object", properties, required } },
});
const TOOLS = [
  tool("get_weather", { city: { type: "string", maxLength: 12 } }),
  tool("set_light", {
    color: { enum: ["red", "green"] },
    level: { type: "integer", minimum: 0, maximum: 9 },
  }),
  tool("add_note", { tags: { type: "array", items: { type: "string", maxLength: 6 }, maxItems: 2 } }, []),
  { type: "function", function: { name: "ping" } },
];
const SCHEMAS = [
  { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false },
  { type: "array", items: { enum: ["amber", "é", 7, null] }, minItems: 1, maxItems: 4 },
  { type: "object", properties: { code: { type: "string", maxLength: 12 } }, required: ["code"] },
  {
    anyOf: [
      { type: "integer", minimum: 1, maximum: 99 },
      { type: "string", maxLength: 8 },
    ],
  },
];
const THINKING = [
  { reasoning_effort: "high" },
  { chat_template_kwargs: { enable_thinking: true } },
  { thinkLevel: "low" },
];

const recall = (roll) => [
  { role: "user", content: `remember this code: ${pick(roll, CODES)}.` },
  { role: "assistant", content: "noted." },
  { role: "user", content: "what is the code?" },
];
const weather = (roll) => [{ role: "user", content: `what is the weather in ${pick(roll, CITIES)}?` }];
const odd = (roll) => {
  const text = Array.from({ length: 1 + Math.floor(roll() * 12) }, () => pick(roll, ODD)).join("");
  return [{ role: "user", content: [{ type: "text", text }] }];
};
const lasting = (roll) => [
  { role: "system", content: "you are a light." },
  ...weather(roll),
  { role: "user", content: "please tell me something." },
];

const KINDS = {
  text: (roll) => ({ messages: pick(roll, [recall, weather, odd, lasting])(roll) }),
  tools: (roll) => ({
    messages: weather(roll),
    tools: TOOLS.slice(0, 1 + Math.floor(roll() * TOOLS.length)),
  }),
  required: (roll) => ({
    messages: pick(roll, [weather, odd])(roll),
    tools: TOOLS,
    tool_choice: pick(roll, [
      "required",
      { type: "function", function: { name: pick(roll, TOOLS).function.name } },
    ]),
    parallel_tool_calls: roll() < 0.5,
    max_tokens: 60,
  }),
  schema: (roll) => ({
    messages: recall(roll),
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: pick(roll, SCHEMAS) } },
    max_tokens: 40,
  }),
  object: (roll) => ({ messages: odd(roll), response_format: { type: "json_object" } }),
  stopped: (roll) => ({
    messages: recall(roll),
    stop: pick(roll, ["tern", ["code is", "zzz"], [" ", "never"], "e", ["n seven", "r n", "."]]),
  }),
  cut: (roll) => ({ messages: pick(roll, [recall, odd])(roll), max_tokens: 1 + Math.floor(roll() * 8) }),
};
const NAMES = Object.keys(KINDS);

/** The request of a number: what it is of, and its body without `stream`. */
export function request(number) {
  const roll = dice(number);
  const kind = NAMES[number % NAMES.length];
  const hot = roll() < 0.6 ? { temperature: 1, seed: Math.floor(roll() * 1e9) } : { temperature: 0 };
  const thinking = roll() < 0.35 ? pick(roll, THINKING) : {};
  const scores = roll() < 0.3 ? { logprobs: true, top_logprobs: Math.floor(roll() * 5) } : {};
  return { kind, body: { max_tokens: 24, ...hot, ...thinking, ...scores, ...KINDS[kind](roll) } };
}
