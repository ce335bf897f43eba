// A real `hangar serve` with a state folder of its own, and questions to it.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const HANGAR = process.env.HANGAR_BINARY;
const PATIENCE_MS = 60_000;

/** A state folder that goes away with the test. */
export function newHome(t, local = {}) {
  const home = mkdtempSync(join(tmpdir(), "hangar-real-"));
  writeFileSync(join(home, "local.json"), JSON.stringify(local));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Runs a command to its end. */
export function command(args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(HANGAR, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let errors = "";
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (errors += data));
    child.on("error", reject);
    child.on("close", (status, signal) => resolve({ status, signal, out, errors }));
  });
}

/** Starts a server and waits for its address; it is ended with the test. */
export async function serve(t, { local, home = newHome(t, local), env = {} } = {}) {
  const child = spawn(HANGAR, ["serve"], {
    env: { ...process.env, HANGAR_PORT: "", HANGAR_HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const ended = new Promise((resolve) => child.on("exit", (status, signal) => resolve({ status, signal })));
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
    child.on("exit", (status) => reject(new Error(`serve ended with ${status}: ${said}`)));
    setTimeout(() => reject(new Error(`no address in time: ${said}`)), PATIENCE_MS).unref();
  });
  return { url, home, child, ended, log: () => said };
}

/** GETs JSON. */
export async function get(server, path) {
  return (await fetch(server.url + path, { signal: AbortSignal.timeout(PATIENCE_MS) })).json();
}

/** Posts JSON; the answer with its status. */
export async function post(server, path, body) {
  const answer = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

/** Asks for an answer of the pocket model. */
export function ask(server, content, more = {}) {
  const messages = Array.isArray(content) ? content : [{ role: "user", content }];
  return post(server, "/v1/chat/completions", { messages, ...more });
}

/** Opens a streamed answer; `next()` gives its events one by one, null at the end of the body; `leave()` goes away. */
export function stream(server, content, more = {}) {
  const messages = Array.isArray(content) ? content : [{ role: "user", content }];
  return open(server, "/v1/chat/completions", { messages, stream: true, ...more });
}

/** The same for any path and body. */
export async function open(server, path, body) {
  const away = new AbortController();
  const answer = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.any([away.signal, AbortSignal.timeout(PATIENCE_MS)]),
  });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  async function next() {
    for (;;) {
      const end = held.indexOf("\n\n");
      if (end >= 0) {
        const event = held.slice(0, end).replace(/^data: /, "");
        held = held.slice(end + 2);
        return event;
      }
      const { value, done } = await reader.read();
      if (done) return null;
      held += value;
    }
  }
  async function rest() {
    const events = [];
    for (let event = await next(); event !== null; event = await next()) events.push(event);
    return events;
  }
  return { status: answer.status, next, rest, leave: () => away.abort() };
}

/** The visible text of streamed events. */
export function textOf(events) {
  const chunks = events.filter((event) => event !== "[DONE]").map((event) => JSON.parse(event));
  return chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? "").join("");
}

/** Whether a process runs; one that is only waiting to be reaped does not. */
export function lives(pid) {
  try {
    process.kill(pid, 0);
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)[0] !== "Z";
  } catch (error) {
    return error.code === "ENOENT" && process.platform === "darwin";
  }
}

/** Looks again and again until it is so. */
export async function until(what, isSo, limitMs = PATIENCE_MS) {
  const end = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The worker as /ready tells it. */
export async function worker(server) {
  return (await get(server, "/ready")).worker;
}
