// The page for everybody: by keyboard alone, in a narrow window, by the rules of accessibility, and light.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { ENDLESS_TOKENS, endless } from "../real/models.mjs";
import { ask, serve, stream, worker } from "../real/server.mjs";
import { converse, headerSays, openBrowser, openPage, scrollsSideways, violations } from "./browser.mjs";

const DIST = join(import.meta.dirname, "../../ui/dist");
const BUNDLE_BYTES = 120_000;
const browser = await openBrowser();

const focused = (page) =>
  page.evaluate(() => {
    const { activeElement: at } = document;
    return at.getAttribute("aria-label") || at.id || at.textContent;
  });

test("tabs, chat and switch work by keyboard alone, with a focus ring that is seen", async (t) => {
  const server = await serve(t);
  await ask(server, "hello.");
  const page = await openPage(t, browser, server);
  await headerSays(page, "Ready");
  const order = [];
  for (let press = 0; press < 4; press++) {
    await page.keyboard.press("Tab");
    order.push(await focused(page));
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(ring, "solid", order.at(-1));
  }
  assert.deepEqual(order, ["Stop service", "Copy the address", "tab-overview", "Unload"]);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("ArrowRight");
  assert.equal(await focused(page), "tab-test");
  assert.equal(await page.getByRole("tabpanel").getAttribute("aria-labelledby"), "tab-test");
  assert.equal(new URL(page.url()).hash, "#test");
  for (let press = 0; press < 6 && (await focused(page)) !== "message"; press++)
    await page.keyboard.press("Tab");
  await page.keyboard.type("remember this code: amber lantern seven.");
  await page.keyboard.press("Enter");
  await page
    .getByRole("article")
    .getByText(/to first word/)
    .waitFor();
  assert.equal(await focused(page), "message");
  await page.keyboard.press("Control+1");
  await page.getByRole("heading", { name: "Memory" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Memory" }).waitFor();
  await page.keyboard.press("Control+2");
  await page.getByLabel("Message", { exact: true }).waitFor();
  await page.reload();
  await page.getByLabel("Message", { exact: true }).waitFor();
});

test("the address is copied by button and by shortcut", async (t) => {
  const server = await serve(t);
  const permissions = ["clipboard-read", "clipboard-write"];
  const page = await openPage(t, browser, server, { permissions });
  await headerSays(page, "Idle");
  for (const act of [
    () => page.getByRole("button", { name: "Copy the address" }).click(),
    () => page.keyboard.press("Control+Shift+L"),
  ]) {
    await page.evaluate(() => navigator.clipboard.writeText(""));
    await act();
    await page.getByRole("button", { name: "Copy the address" }).getByText("Copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${server.url}/v1`);
    await page.getByText("Copied").first().waitFor({ state: "detached" });
  }
});

test("nothing scrolls sideways from 320 to 1200 pixels, whatever is open", async (t) => {
  const server = await serve(t);
  await ask(server, "hello.");
  for (const width of [320, 400, 799, 800, 1200]) {
    const page = await openPage(t, browser, server, { viewport: { width, height: 640 } });
    await headerSays(page, "Ready");
    for (const why of await page.getByRole("button", { name: /^Why\?/ }).all()) await why.click();
    await page.getByText("Facts").click();
    assert.deepEqual(await scrollsSideways(page), [], `overview at ${width}`);
    await page.keyboard.press("Control+2");
    await converse(page, "w".repeat(400));
    assert.deepEqual(await scrollsSideways(page), [], `test at ${width}`);
    await page.context().close();
  }
});

for (const colorScheme of ["light", "dark"]) {
  test(`no rule of accessibility is broken in ${colorScheme}, in any state`, async (t) => {
    const server = await serve(t, { local: endless(t) });
    const page = await openPage(t, browser, server, { colorScheme });
    await headerSays(page, "Idle");
    assert.deepEqual(await violations(page), [], "idle");
    const open = await stream(server, "hello.", { max_tokens: ENDLESS_TOKENS });
    await open.next();
    await headerSays(page, "Busy");
    for (const why of await page.getByRole("button", { name: /^Why\?/ }).all()) await why.click();
    await page.getByText("Facts").click();
    await page.getByRole("button", { name: "Unload", exact: true }).click();
    await page.getByRole("alertdialog").waitFor();
    assert.deepEqual(await violations(page), [], "busy, with a question");
    open.leave();
    process.kill((await worker(server)).pid, "SIGKILL");
    await page.getByRole("region", { name: "Last error" }).waitFor();
    assert.deepEqual(await violations(page), [], "after a crash");
    await page.getByRole("tab", { name: "Test" }).click();
    await page.getByRole("button", { name: "Stop service" }).click();
    await headerSays(page, "Stopped");
    await (await converse(page, "hello.")).getByRole("alert").waitFor();
    assert.deepEqual(await violations(page), [], "refused");
    await page.setViewportSize({ width: 900, height: 640 });
    await page.getByRole("region", { name: "Overview" }).waitFor();
    server.child.kill("SIGKILL");
    await page.getByText("Server not reached").waitFor();
    assert.deepEqual(await violations(page), [], "lost, in two columns");
  });
}

test("the page is at most 120 kB gzipped", (t) => {
  const files = readdirSync(DIST, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce(
    (sum, file) => sum + gzipSync(readFileSync(join(file.parentPath, file.name))).length,
    0,
  );
  t.diagnostic(`${files.length} files, ${bytes} bytes gzipped`);
  assert.ok(
    files.some((file) => file.name.endsWith(".js")),
    "the page is built",
  );
  assert.ok(bytes <= BUNDLE_BYTES, `${bytes} bytes`);
});
