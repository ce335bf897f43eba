// The page while its server goes away, comes back, or another program takes its place.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { newHome, serve } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage } from "./browser.mjs";

const browser = await openBrowser();

test("a killed server is told with the age of what is shown, and its return is noticed", async (t) => {
  const home = newHome(t);
  const server = await serve(t, { home });
  const page = await openPage(t, browser, server);
  await page.getByRole("button", { name: "Load" }).click();
  await headerSays(page, "Ready");
  const killed = performance.now();
  server.child.kill("SIGKILL");
  await page.getByRole("alert").getByText("Server not reached").waitFor();
  t.diagnostic(`told ${Math.round(performance.now() - killed)} ms after the server was killed`);
  await page.getByText(/^What you see is .+ old\.$/).waitFor();
  await headerSays(page, "Was: Ready");
  assert.ok(await page.getByText("Model: in use").isVisible(), "the last values stay");
  assert.match(
    await page.locator(".sections").evaluate((node) => getComputedStyle(node).filter),
    /grayscale\(1\)/,
  );
  for (const name of ["Stop service", "Unload"]) {
    assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
  }
  assert.equal(await page.title(), "Not reached · Hangar");
  await page.getByText(/What you see is ([3-9]|\d\d) s old\./).waitFor();
  await server.ended;
  await serve(t, { home, env: { HANGAR_PORT: new URL(server.url).port } });
  await headerSays(page, "Idle");
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.getByRole("button", { name: "Load" }).click();
  await headerSays(page, "Ready");
});

test("eight tabs leave a connection for the one that is looked at", async (t) => {
  const server = await serve(t);
  const first = await openPage(t, browser, server);
  await headerSays(first, "Idle");
  const tabs = [first];
  while (tabs.length < 8) {
    await tabs.at(-1).evaluate(hide, true);
    const tab = await first.context().newPage();
    tab.setDefaultTimeout(60_000);
    await tab.goto(server.url);
    await headerSays(tab, "Idle");
    tabs.push(tab);
  }
  await converse(await chatOf(tabs.at(-1)), "hello.");
  await tabs.at(-1).evaluate(hide, true);
  const behind = tabs[3];
  assert.equal(await behind.title(), "Hangar", "what is not followed is not told");
  await behind.evaluate(hide, false);
  await headerSays(behind, "Ready");
  assert.equal(await behind.title(), "Ready · Hangar");
});

async function chatOf(page) {
  await page.getByRole("tab", { name: "Test" }).click();
  return page;
}

/** Runs in the page: a browser without a screen takes every tab for seen. */
function hide(hidden) {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

test("another program at the address is not taken for the server", async (t) => {
  const server = await serve(t);
  const page = await openPage(t, browser, server);
  await headerSays(page, "Idle");
  server.child.kill("SIGKILL");
  await server.ended;
  const stranger = createServer((_, response) => response.end("<h1>something else</h1>"));
  await new Promise((resolve) => stranger.listen(Number(new URL(server.url).port), "127.0.0.1", resolve));
  t.after(() => {
    stranger.closeAllConnections();
    stranger.close();
  });
  await page.getByRole("alert").getByText("Another program answers here").waitFor();
  await page.getByText("hangar state").waitFor();
  await headerSays(page, "Was: Idle");
});
