// A real browser at the page of a real server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "playwright-core";
import { IS_MACOS, onPath } from "../../.ci/setup/places.mjs";

const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--force-color-profile=srgb",
];

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** How long anything a real model or server does may take on a busy machine. */
const PATIENCE_MS = 60_000;

/** A browser that goes away with the test file. */
export async function openBrowser() {
  const executablePath = onPath("chromium") ?? onPath("google-chrome");
  const browser = await (IS_MACOS && executablePath === null
    ? chromium.launch({ channel: "chrome" })
    : chromium.launch({ executablePath, args: QUIET }));
  after(() => browser.close());
  return browser;
}

/** Opens the server's page; at the end of the test it must have raised no error. */
export async function openPage(t, browser, server, { path = "/", prepare, ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 400, height: 640 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A refused request is told by the browser, whatever the page makes of it.
    const isRefusal = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isRefusal) complaints.push(message.text());
  });
  await prepare?.(page);
  await page.goto(server.url + path);
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints, [], "the browser complained");
  });
  return page;
}

/** Waits until the header says this word. */
export async function headerSays(page, word) {
  await page.getByRole("banner").locator(".state", { hasText: word }).waitFor();
}

/** Sends a message by keyboard and waits for the end of the answer. */
export async function converse(page, message) {
  await page.getByLabel("Message", { exact: true }).fill(message);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send" }).waitFor();
  return page.getByRole("article").last();
}

/** Whether anything is wider than the window. */
export function scrollsSideways(page) {
  return page.evaluate(() => {
    const inner = [...document.querySelectorAll("*")].filter(
      (element) =>
        element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible",
    );
    const names = inner
      .filter((element) => !element.classList.contains("visually-hidden"))
      .map((element) => element.outerHTML.slice(0, 80));
    return document.documentElement.scrollWidth > window.innerWidth ? ["the page", ...names] : names;
  });
}

/** The rules of accessibility that the page breaks as it is now. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => window.axe.run());
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
}
