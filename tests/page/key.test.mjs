// A server with a key: the page asks for it, says when it was another one, shows it with all it asks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage, scrollsSideways, violations } from "./browser.mjs";

const KEY = "amber-lantern-seven";
const LOCKED = { server: { apiKey: KEY } };
const browser = await openBrowser();

const form = (page) => page.getByRole("form", { name: "Key" });

async function use(page, key) {
  await form(page).getByLabel("This server wants its key").fill(key);
  await page.keyboard.press("Enter");
}

test("the page asks for the key by keyboard alone, tells a wrong one, and chats with the right one", async (t) => {
  const server = await serve(t, { local: LOCKED });
  const page = await openPage(t, browser, server, { path: "/#test" });
  await form(page).waitFor();
  await headerSays(page, "Locked");
  assert.equal(await page.title(), "Key wanted · Hangar");
  assert.equal(await form(page).getByText("That was not its key.").count(), 0);
  await use(page, "another key");
  await form(page).getByText("That was not its key.").waitFor();
  assert.equal(await form(page).getByLabel("This server wants its key").inputValue(), "");
  await use(page, KEY);
  await headerSays(page, "Idle");
  assert.equal(await form(page).count(), 0);
  const answer = await converse(page, "hello.");
  assert.ok((await answer.innerText()).length > 0);
  await headerSays(page, "Ready");
  await page.reload();
  await headerSays(page, "Ready");
});

test("the key is kept for its tab alone and is in no address", async (t) => {
  const server = await serve(t, { local: LOCKED });
  const page = await openPage(t, browser, server);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await form(page).waitFor();
  await use(page, KEY);
  await headerSays(page, "Idle");
  assert.ok(asked.length > 0 && asked.every((url) => !url.includes("key")), asked.join(" "));
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), []);
  const other = await page.context().newPage();
  await other.goto(server.url);
  await form(other).waitFor();
});

test("the form of the key breaks no rule of accessibility and fits the narrowest window", async (t) => {
  const server = await serve(t, { local: LOCKED });
  for (const colorScheme of ["light", "dark"]) {
    const viewport = { width: 320, height: 640 };
    const page = await openPage(t, browser, server, { colorScheme, viewport });
    await form(page).waitFor();
    await use(page, "another key");
    await form(page).getByText("That was not its key.").waitFor();
    assert.deepEqual(await violations(page), [], colorScheme);
    assert.deepEqual(await scrollsSideways(page), []);
  }
});
