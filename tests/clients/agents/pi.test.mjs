// The coding agent pi: commands and files through its tools. Every turn is printed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { callOf, MODEL, newFolder, quoted, serveScripted } from "./scripted.mjs";

const PI = join(import.meta.dirname, "node_modules/.bin/pi");

/** Runs pi once with a home of its own; the messages it wrote down. */
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
  const events = out.split("\n").filter((line) => line.startsWith("{"));
  const messages = events
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === "message_end")
    .map(({ message }) => message)
    .filter(({ role }) => role !== "system");
  for (const { role, content } of messages)
    process.stdout.write(`  turn   ${role}: ${JSON.stringify(content).slice(0, 160)}\n`);
  return messages;
}

test("a command is run through the tool, and its output answered", async (t) => {
  const command = ["{command:", quoted("echo hello-tool"), "}"].flat();
  const server = await serveScripted(t, [callOf("bash", command), ["it said hello-tool."]]);
  const messages = await pi(t, server, "run echo hello-tool, then say what it said");
  const roles = messages.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "toolResult", "assistant"]);
  assert.match(JSON.stringify(messages[2].content), /hello-tool/);
  assert.equal(messages[3].content.at(-1).text, "it said hello-tool.");
});

test("a file is written, read back and edited in as many turns, each result going into the next", async (t) => {
  const path = ["path:", quoted("note.txt")];
  const write = callOf("write", ["{content:", quoted("amber lantern\n"), ",", ...path, "}"].flat());
  const read = callOf("read", ["{", ...path, "}"].flat());
  const edits = ["edits:[{newText:", quoted("seven"), ",oldText:", quoted("lantern"), "}],"];
  const edit = callOf("edit", ["{", ...edits, ...path, "}"].flat());
  const server = await serveScripted(t, [write, read, edit, read, ["done."]]);
  const messages = await pi(t, server, "write a note, read it, change it, read it again");
  const results = messages.filter(({ role }) => role === "toolResult");
  assert.deepEqual(
    results.map(({ toolName, isError }) => [toolName, isError]),
    [
      ["write", false],
      ["read", false],
      ["edit", false],
      ["read", false],
    ],
  );
  assert.match(JSON.stringify(results[1].content), /amber lantern/);
  assert.match(JSON.stringify(results[3].content), /amber seven/);
  assert.equal(messages.at(-1).content.at(-1).text, "done.");
});
