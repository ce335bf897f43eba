// The overview of the page against a real server and model.
import assert from "node:assert/strict";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ENDLESS_TOKENS, endless, modelCopy, serving } from "../real/models.mjs";
import { ask, get, lives, serve, stream, worker } from "../real/server.mjs";
import { headerSays, openBrowser, openPage } from "./browser.mjs";

const browser = await openBrowser();

const row = (page, label) => page.locator(".row", { hasText: label });

test("state, memory and buttons follow a load and an unload", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server);
  await headerSays(page, "Idle");
  await page.getByText("No model is in memory.").waitFor();
  const words = await page.evaluate(() => {
    window.seen = new Set();
    const note = () => window.seen.add(document.querySelector("header [role=status]").textContent);
    new MutationObserver(note).observe(document.querySelector("header"), {
      subtree: true,
      characterData: true,
    });
  });
  assert.equal(words, undefined);
  await page.getByRole("button", { name: "Load" }).click();
  await headerSays(page, "Ready");
  const seen = await page.evaluate(() => [...window.seen]);
  assert.ok(
    seen.some((word) => /Starting worker…|Loading model…|Warming up…/.test(word)),
    `on the way it said: ${seen}`,
  );
  await row(page, "Model: in use").waitFor();
  assert.match(await row(page, "Model: in use").locator(".value").innerText(), /^\d+(\.\d+)? [MG]B$/);
  const { pid } = await worker(server);
  await page.getByRole("button", { name: "Unload" }).click();
  await headerSays(page, "Idle");
  await page.getByText("No model is in memory.").waitFor();
  assert.equal(await row(page, "Model: in use").count(), 0);
  assert.ok(!lives(pid));
});

test("what other clients do is seen, and every figure says why", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server);
  await ask(server, "hello.");
  await row(page, "Answered").getByText("1", { exact: true }).waitFor();
  await headerSays(page, "Ready");
  // What is measured comes a moment after the state, and its rows move the others.
  await row(page, "Worker: the rest").waitFor();
  const whys = page.getByRole("button", { name: /^Why\?/ });
  const count = await whys.count();
  assert.ok(count >= 8, `${count} figures can be asked`);
  for (let at = 0; at < count; at++) await whys.nth(at).click();
  for (const text of await page.locator("p.why").allInnerTexts()) assert.ok(text.length > 60, text);
  await page.getByText("Facts").click();
  await page.getByText("1.3 million").waitFor();
  await page.getByText(String((await worker(server)).pid), { exact: true }).waitFor();
});

test("unloading in the middle of an answer asks first, and the harmless button has the focus", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const page = await openPage(t, browser, server);
  const open = await stream(server, "hello.", { max_tokens: ENDLESS_TOKENS });
  await open.next();
  await headerSays(page, "Busy");
  await page.getByRole("button", { name: "Unload", exact: true }).click();
  const asked = page.getByRole("alertdialog");
  await asked.getByText("cuts it off").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Keep it");
  await page.keyboard.press("Enter");
  await asked.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Unload");
  assert.equal((await worker(server)).state, "busy");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Unload now" }).click();
  await headerSays(page, "Idle");
  const events = await open.rest();
  assert.ok(!events.includes("[DONE]"), "the answer was cut off");
});

test("a model that cannot be loaded is named with its cure, and one button mends it", async (t) => {
  const model = modelCopy(t);
  const weights = join(model, "model.safetensors");
  const whole = readFileSync(weights);
  truncateSync(weights, 1_000_000);
  const server = await serve(t, { local: serving(model) });
  const page = await openPage(t, browser, server);
  await page.getByRole("button", { name: "Load" }).click();
  await headerSays(page, "Failed");
  const error = page.getByRole("region", { name: "Last error" });
  await error.getByText("model.safetensors").waitFor();
  await error.getByText("Put the model's files in place again").waitFor();
  writeFileSync(weights, whole);
  await error.getByRole("button", { name: "Restart worker" }).click();
  await headerSays(page, "Ready");
  await error.waitFor({ state: "detached" });
  assert.equal((await get(server, "/ready")).worker.state, "ready");
});

test("another model is shown with its own state beside the default one", async (t) => {
  const local = { profiles: { second: { model: { id: "second", path: modelCopy(t) } } } };
  const server = await serve(t, { local });
  const page = await openPage(t, browser, server);
  await headerSays(page, "Idle");
  const others = page.getByRole("region", { name: "Other models" });
  await others.getByText("second").waitFor();
  await others.getByText("Idle").waitFor();
  const { status } = await ask(server, "hello.", { model: "second" });
  assert.equal(status, 200);
  await others.getByText("Ready").waitFor();
  await headerSays(page, "Idle");
});
