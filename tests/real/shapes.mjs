// Requests in the shapes that agents and SDKs send, in words of our own: tests/fixtures/clients, filled in.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { dice, pick } from "./dice.mjs";

const FIXTURES = join(import.meta.dirname, "../fixtures/clients");
const CANARY = join(import.meta.dirname, "../../worker/pocket/canary");
const WORDS =
  "the code is in this city, please remember a light song: seven lanterns by the harbor, one dragon, nine olive anchors, " +
  "what time was it, tell me the weather, note the color, hello you two, keep it in mind, repeat the secret name.";
const PLACES = /\{\{(\w+) (\d+) (\d+)\}\}/g;

/** So many characters of words, the same ones for the same seed. */
function words(length, seed) {
  const roll = dice(seed);
  const known = WORDS.split(" ");
  let text = "";
  while (text.length < length) text += `${pick(roll, known)} `;
  return text.slice(0, length).replace(/ $/, ".");
}

/** A column of numbers, cut off at a length. */
function numbers(first, length) {
  const lines = Array.from({ length: Math.ceil(length / 6) }, (_, at) => first + at);
  return lines.join("\n").slice(0, length);
}

const MAKERS = { words, numbers };
const fixture = (name) => JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), "utf8"));

/** Forty tools: those of an agent, and as many again with whatever else schemas of tools hold. */
function fortyTools() {
  const tools = fill(fixture("tools_14"));
  for (let number = tools.length; number < 40; number += 1) tools.push(manyFaced(number));
  return tools;
}

function manyFaced(number) {
  const said = (length, at) => ({ description: words(length, 40_000 + 100 * number + at) });
  const properties = {
    path: { type: "string", minLength: 1, maxLength: 65_536, pattern: "\\S", ...said(150, 1) },
    name: { type: "string", pattern: "^[a-z0-9_-]{1,64}$", ...said(110, 2) },
    kind: { enum: ["one", "two", "three-more"], default: "one", ...said(140, 3) },
    limit: { anyOf: [{ type: "integer", minimum: 1, maximum: 500 }, { type: "null" }], ...said(150, 4) },
    when: { type: ["string", "null"], ...said(120, 5) },
    sure: { type: "boolean", const: true, ...said(90, 6) },
    names: {
      type: "array",
      items: { type: "string" },
      minItems: 1,
      maxItems: 16,
      uniqueItems: true,
      ...said(60, 7),
    },
    each: {
      type: "object",
      properties: {
        share: { type: "number", exclusiveMinimum: 0 },
        note: { type: "string", ...said(70, 8) },
      },
      required: ["share"],
      additionalProperties: false,
    },
    settings: { type: "object", patternProperties: { "^.*$": {} }, ...said(80, 9) },
  };
  const parameters = { type: "object", required: ["path"], properties, additionalProperties: false };
  const description = words(440, 40_000 + 100 * number);
  return { type: "function", function: { name: `tool_of_kind_${number}`, description, parameters } };
}

const FORMS = {
  flat: ({ type, function: named }) => ({ type, ...named, strict: false }),
  input_schema: ({ function: { name, description, parameters } }) => ({
    name,
    description,
    input_schema: parameters,
  }),
};

function tools(count, form) {
  const declared = count === "40" ? fortyTools() : fill(fixture(`tools_${count}`));
  return form === undefined ? declared : declared.map(FORMS[form]);
}

function fillText(text) {
  const [, count, form] = text.match(/^\{\{tools (\d+)(?: (\w+))?\}\}$/) ?? [];
  if (count !== undefined) return tools(count, form);
  const base64 = (name) => readFileSync(join(CANARY, name), "base64");
  switch (text) {
    case "{{model}}":
      return "gemma-4-pocket";
    case "{{png}}":
      return `data:image/png;base64,${base64("blue.png")}`;
    case "{{wav}}":
      return base64("lantern_seven.wav");
    default:
      return text.replace(PLACES, (_, maker, first, second) => MAKERS[maker](Number(first), Number(second)));
  }
}

function fill(value) {
  if (typeof value === "string") return fillText(value);
  if (Array.isArray(value)) return value.map(fill);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
}

/** The requests of one client: path, headers, body, and what is known of them. */
export function requestsOf(client) {
  const { headers, requests } = fixture(client);
  return requests.map((request) => ({
    method: "POST",
    ...request,
    headers: { ...headers, ...request.headers },
    body: request.body && fill(request.body),
  }));
}
