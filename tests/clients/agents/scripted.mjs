// A real server whose worker answers by script: what a small model cannot be asked for, such as calls of any tool.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PATIENCE_MS = 60_000;
const control = (token) => ({ type: "control", token });

/** The served model's name. */
export const MODEL = "gemma-4-pocket";

/** An answer that calls a tool; the arguments in the model's own writing. */
export const callOf = (name, argumentsWritten) => [
  control("<|tool_call>"),
  `call:${name}`,
  argumentsWritten,
  control("<tool_call|>"),
  control("<|tool_response>"),
];

/** A text of an argument in the model's own writing. */
export const quoted = (text) => [control('<|"|>'), text, control('<|"|>')];

/** A folder that goes away with the test. */
export function newFolder(t) {
  const folder = mkdtempSync(join(tmpdir(), "hangar-agents-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts the server; each request takes the next answer, and the last one repeats. */
export async function serveScripted(t, answers) {
  const folder = newFolder(t);
  writeFileSync(
    join(folder, "script.json"),
    JSON.stringify([{ answers: answers.map((answer) => answer.flat()) }]),
  );
  const child = spawn(process.env.HANGAR_SCRIPTED_SERVER, [folder], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  t.after(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const url = await new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (data) => {
      out += data;
      const found = out.match(/^Hangar is listening on (\S+)$/m);
      if (found) resolve(found[1]);
    });
    child.on("exit", (status) => reject(new Error(`the scripted server ended with ${status}: ${said}`)));
    setTimeout(() => reject(new Error(`no address in time: ${said}`)), PATIENCE_MS).unref();
  });
  return { url };
}
