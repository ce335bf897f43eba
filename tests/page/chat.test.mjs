// The chat of the page against a real server and model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { get, serve, until, worker } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage } from "./browser.mjs";
import { endless } from "./models.mjs";
import { answerWith } from "./scripted.mjs";

const browser = await openBrowser();
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

test("Stop ends the answer in the page and in the model, and what came stays", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const page = await openPage(t, browser, server, { path: "/#test" });
  await headerSays(page, "Idle");
  await page.getByLabel("Message", { exact: true }).fill("hello.");
  await page.keyboard.press("Enter");
  await page.locator("article .answer").waitFor();
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

test("the page stays responsive while 100,000 characters come, and shows all of them", async (t) => {
  const server = await serve(t);
  const text = Array.from({ length: 1000 }, (_, line) =>
    `${line} `.padEnd(line % 9 ? 99 : 60, "words "),
  ).join("\n");
  const wanted = text.padEnd(100_000, "z");
  const overMs = 4000;
  const prepare = (page) => page.addInitScript(answerWith, { text: wanted, pieceCharacters: 4, overMs });
  const page = await openPage(t, browser, server, { path: "/#test", prepare });
  await headerSays(page, "Idle");
  await page.evaluate(() => {
    window.gaps = [];
    let last = performance.now();
    const frame = (now) => {
      window.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const began = performance.now();
  const article = await converse(page, "hello.");
  const tookMs = performance.now() - began;
  const gaps = (await page.evaluate(() => window.gaps)).sort((a, b) => a - b);
  const typical = gaps[Math.floor(gaps.length * 0.95)];
  t.diagnostic(`${Math.round(tookMs)} ms; a frame every ${Math.round(typical)} ms in 95 of 100`);
  const shown = await article.locator(".answer > div").allInnerTexts();
  assert.equal(shown.join("\n"), wanted);
  assert.ok(typical < 250, `one frame in twenty took over ${typical} ms`);
  assert.ok(tookMs < overMs * 3, `it took ${tookMs} ms`);
  const log = page.getByRole("log");
  const below = await log.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight);
  assert.ok(below < 24, "the newest words are in view");
});
