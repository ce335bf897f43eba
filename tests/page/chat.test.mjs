// The chat of the page against a real server and model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { endless } from "../real/models.mjs";
import { get, serve, until, worker } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage } from "./browser.mjs";
import { answerWith } from "./scripted.mjs";

const browser = await openBrowser();
// The longest block is 8000 characters, and one read may bring some more.
const MOST_CHARACTERS = 9000;
const HTML = `<img src=x onerror="document.title='run'"><b>bold</b> **stars** [a](javascript:alert(1)) &amp;`;

test("the chat streams the code words, with a line that opens to its figures", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server, { path: "/#test" });
  await headerSays(page, "Idle");
  await converse(page, "remember this code: amber lantern seven.");
  const answer = await converse(page, "what is the code?");
  assert.match(await answer.innerText(), /amber lantern seven/);
  await answer.getByText(/^\d+\.\d\d s to first word · \d+ tok\/s/).click();
  await answer.getByText("Whole request, in the server").waitFor();
  assert.match(await answer.locator("dl").innerText(), /Prompt\s+\d+ tokens/);
});

test("a long conversation scrolls inside its list, never the page itself", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server, { path: "/#test", width: 320 });
  await headerSays(page, "Idle");
  for (let turn = 0; turn < 8; turn++) await converse(page, "hello.");
  const overflow = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
  assert.ok(overflow <= 0, `the document is ${overflow} px higher than its window`);
});

test("Stop ends the answer in the page and in the model, and what came stays", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const page = await openPage(t, browser, server, { path: "/#test" });
  await headerSays(page, "Idle");
  await page.getByLabel("Message", { exact: true }).fill("hello.");
  await page.keyboard.press("Enter");
  await page.locator("article .answer", { hasText: "how can i help" }).waitFor();
  await headerSays(page, "Busy");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("You stopped this answer.").waitFor();
  await until("the model is free", async () => (await worker(server)).state === "ready");
  const kept = await page.locator("article .answer").innerText();
  assert.match(kept, /how can i help/);
  await headerSays(page, "Ready");
});

test("a stopped service refuses in words, stays on the page, and answers after Start", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server, { path: "/#test" });
  await headerSays(page, "Idle");
  await page.getByRole("button", { name: "Stop service" }).click();
  await headerSays(page, "Stopped");
  assert.equal((await get(server, "/health")).accepting, false);
  const refused = await converse(page, "hello.");
  await refused.getByText("The service is stopped and takes no requests.").waitFor();
  await refused.getByRole("button", { name: "Start service" }).click();
  await headerSays(page, "Ready");
  await page.getByRole("button", { name: "Send" }).waitFor();
  assert.equal(await page.getByRole("article").count(), 1);
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Stop service" }).click();
  await headerSays(page, "Stopped");
  await page.getByRole("button", { name: "Start service" }).click();
  await headerSays(page, "Idle");
});

test("markup is text, whoever wrote it", async (t) => {
  const server = await serve(t);
  const prepare = (page) => page.addInitScript(answerWith, { text: HTML, pieceCharacters: 3, overMs: 100 });
  const page = await openPage(t, browser, server, { path: "/#test", prepare });
  await headerSays(page, "Idle");
  const article = await converse(page, HTML);
  assert.equal(await article.locator(".answer > div").innerText(), HTML);
  assert.ok((await article.locator(".question").innerText()).endsWith(HTML));
  assert.equal(await article.locator("img, b, strong, a").count(), 0);
  assert.equal(await page.title(), "Idle · Hangar");
});

test("100,000 characters are shown whole, and no step towards them touches more than a block", async (t) => {
  const server = await serve(t);
  const line = (number) => `${number} `.padEnd(number % 9 ? 99 : 60, "words ");
  const text = Array.from({ length: 1000 }, (_, number) => line(number))
    .join("\n")
    .padEnd(100_000, "z");
  const script = { text, pieceCharacters: 4, overMs: 4000 };
  const prepare = (page) => page.addInitScript(answerWith, script);
  const page = await openPage(t, browser, server, { path: "/#test", prepare });
  await headerSays(page, "Idle");
  const watched = await page.evaluateHandle(watchSteps);
  const article = await converse(page, "hello.");
  const { frames, steps, largest } = await watched.jsonValue();
  const shown = await article.locator(".answer > div").allInnerTexts();
  assert.equal(shown.join("\n"), text);
  const log = page.getByRole("log");
  const below = () => log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
  await until("the newest words are in view", async () => (await below()) < 24);
  const quarterMs = (frames.at(-1) - frames[0]) / 4;
  const early = frames.filter((at) => at < frames[0] + quarterMs).length;
  const late = frames.filter((at) => at > frames.at(-1) - quarterMs).length;
  t.diagnostic(
    `${early} frames in the first quarter, ${late} in the last; ${Math.round(4 * quarterMs)} ms in all`,
  );
  // How many frames there are depends on the machine; how much each of them changes does not.
  assert.ok(steps > 10, `${steps} steps`);
  assert.ok(largest < MOST_CHARACTERS, `a step changed ${largest} characters`);
});

/** Runs in the page: notes when frames are drawn while an answer comes, and how much text each change touches. */
function watchSteps() {
  const seen = { frames: [], steps: 0, largest: 0 };
  const note = (at) => {
    if (document.querySelector("[aria-busy=true]")) seen.frames.push(at);
    requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
  const characters = ({ type, target, addedNodes }) =>
    type === "characterData"
      ? target.data.length
      : [...addedNodes].reduce((sum, node) => sum + node.textContent.length, 0);
  new MutationObserver((changes) => {
    seen.steps++;
    seen.largest = Math.max(seen.largest, ...changes.map(characters));
  }).observe(document.querySelector("[role=log]"), { subtree: true, childList: true, characterData: true });
  return seen;
}
