// The page in a real browser, against a real server and model: state, an answer, and the server going away.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { aptInstall } from "../setup/machine.mjs";
import { BUILD, HANGAR, IS_MACOS, onPath } from "../setup/places.mjs";
import { Problem } from "../setup/problem.mjs";

const READY_WITHIN_MS = 60_000;
const QUIET_BROWSER = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const pictures = join(BUILD, "pictures");
mkdirSync(pictures, { recursive: true });
const server = spawn(HANGAR, ["serve"], { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => server.kill("SIGKILL"));
const listens = listening();
listens.catch(() => undefined);
const browser = await openBrowser();
try {
  const address = await listens;
  for (const [scheme, width] of [
    ["light", 400],
    ["dark", 900],
  ]) {
    await converse(address, scheme, width);
  }
  await loseServer(address);
  console.log("test result: the page works in a browser");
} finally {
  await browser.close();
}

async function converse(address, colorScheme, width) {
  const { page, complaints } = await open(address, colorScheme, width);
  await page
    .getByText(/^(Idle|Ready)$/)
    .first()
    .waitFor();
  await page.getByText("gemma-4-pocket", { exact: true }).waitFor();
  await ask(page, "remember this code: amber lantern seven.");
  await ask(page, "what is the code?");
  const answer = await page.getByRole("article").last().innerText();
  assert.match(answer, /amber lantern seven/, `the second answer was: ${answer}`);
  assert.match(answer, /s to first word/);
  await page.getByRole("heading", { name: "Ready" }).waitFor();
  const sideways = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth");
  assert.equal(sideways, false, "the page scrolls sideways");
  await page.screenshot({ path: join(pictures, `page-${width}-${colorScheme}.png`) });
  assert.deepEqual(complaints, [], "the browser complained");
  await page.close();
}

async function loseServer(address) {
  const { page } = await open(address, "light", 400);
  await page.getByRole("heading", { name: "Ready" }).waitFor();
  server.kill("SIGTERM");
  await page.getByRole("alert").getByText("Server not reached").waitFor({ timeout: 10_000 });
  await page.getByRole("heading", { name: "Was:" }).waitFor();
  await page.screenshot({ path: join(pictures, "page-lost.png") });
}

async function open(address, colorScheme, width) {
  const page = await browser.newPage({ viewport: { width, height: 640 }, colorScheme });
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address);
  return { page, complaints };
}

async function ask(page, question) {
  await page.getByLabel("Message", { exact: true }).fill(question);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Send" }).waitFor({ timeout: READY_WITHIN_MS });
  assert.equal(await page.getByRole("article").last().getByRole("alert").count(), 0, "the answer failed");
}

async function listening() {
  const late = setTimeout(() => server.kill("SIGKILL"), READY_WITHIN_MS);
  for await (const line of createInterface({ input: server.stdout })) {
    const address = line.match(/^Hangar is listening on (http:\S+)$/)?.[1];
    if (address === undefined) continue;
    clearTimeout(late);
    server.stdout.resume();
    return address;
  }
  throw new Error("the server never said where it listens");
}

async function openBrowser() {
  if (IS_MACOS) return chromium.launch({ channel: "chrome" });
  if (onPath("chromium") === null) {
    const byHand = new Problem("no chromium on PATH", "sudo apt-get install chromium");
    if (process.getuid() !== 0 || onPath("apt-get") === null) throw byHand;
    await aptInstall(["chromium"]);
  }
  return chromium.launch({ executablePath: onPath("chromium"), args: QUIET_BROWSER });
}
