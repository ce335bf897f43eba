// The coding agent pi: one turn that runs a command through its tool. Every turn is printed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { callOf, MODEL, newFolder, quoted, serveScripted } from "./scripted.mjs";

const PI = join(import.meta.dirname, "node_modules/.bin/pi");

/** Runs pi once with a home of its own; its output as events. */
async function pi(t, { url }, prompt) {
  const home = newFolder(t);
  const agent = join(home, ".pi/agent");
  mkdirSync(agent, { recursive: true });
  const provider = {
    baseUrl: `${url}/v1`,
    api: "openai-completions",
    apiKey: "none",
    models: [{ id: MODEL, contextWindow: 65_536, maxTokens: 256 }],
  };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { hangar: provider } }));
  const work = join(home, "work");
  mkdirSync(work);
  const args = [
    "--offline",
    "-p",
    "--mode",
    "json",
    "--no-session",
    "--provider",
    "hangar",
    "--model",
    MODEL,
  ];
  const child = spawn(process.execPath, [PI, ...args, prompt], {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, PI_OFFLINE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let errors = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (errors += data));
  const status = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(status, 0, errors);
  return out
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

test("a command is run through the tool, and its output answered", async (t) => {
  const command = ["{command:", quoted("echo hello-tool"), "}"].flat();
  const server = await serveScripted(t, [callOf("bash", command), ["it said hello-tool."]]);
  const events = await pi(t, server, "run echo hello-tool, then say what it said");
  const messages = events
    .filter(({ type }) => type === "message_end")
    .map(({ message }) => message)
    .filter(({ role }) => role !== "system");
  for (const { role, content } of messages) t.diagnostic(`${role}: ${JSON.stringify(content).slice(0, 200)}`);
  const roles = messages.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "toolResult", "assistant"]);
  assert.match(JSON.stringify(messages[2].content), /hello-tool/);
  assert.equal(messages[3].content.at(-1).text, "it said hello-tool.");
});
