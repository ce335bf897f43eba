// npm run test:more: the second ring, steps that take long. `-- --list` names them, `-- NAME …` runs some;
// with HANGAR_MORE_DEADLINE_S no step begins once that many seconds have passed.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pytest, pytestEnvironment } from "./pytest.mjs";
import { hangarEnvironment } from "./setup/builds.mjs";
import { CACHE, HANGAR, inClone } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp, steps as setUpSteps } from "./setup/setup.mjs";
import { runSteps, sumUp } from "./steps.mjs";

const MINUTE_S = 60;

function allSteps(scratch) {
  const testEnvironment = (name) => ({
    ...hangarEnvironment(),
    HANGAR_BINARY: HANGAR,
    HANGAR_HOME: join(scratch, `${name}-home`),
  });
  return [
    {
      name: "second clone",
      command: [process.execPath, inClone(".ci/more/second-clone.mjs"), join(scratch, "second-clone")],
      timeout_s: 12 * MINUTE_S,
      env: { HANGAR_CACHE: CACHE },
    },
    {
      name: "start in a terminal",
      command: [process.execPath, inClone(".ci/more/terminal.mjs")],
      timeout_s: 4 * MINUTE_S,
      env: { HANGAR_HOME: join(scratch, "terminal-home") },
    },
    {
      name: "app window",
      command: [process.execPath, inClone(".ci/more/app.mjs")],
      timeout_s: 45 * MINUTE_S,
      env: { ...hangarEnvironment(), HANGAR_HOME: join(scratch, "app-home") },
    },
    {
      name: "agents and SDKs",
      command: [process.execPath, inClone(".ci/clients.mjs")],
      timeout_s: 20 * MINUTE_S,
      env: hangarEnvironment(),
    },
    {
      name: "answers in full",
      command: [
        process.execPath,
        "--test",
        "--test-concurrency=1",
        "tests/real/equal.test.mjs",
        "tests/real/shapes.test.mjs",
      ],
      timeout_s: 15 * MINUTE_S,
      env: { ...testEnvironment("answers"), HANGAR_EQUAL_PROMPTS: "200", HANGAR_SHAPES: "all" },
    },
    {
      name: "any schema",
      command: pytest("-rP", "tests/python/test_grammar.py", "-k", "any_schema"),
      timeout_s: 10 * MINUTE_S,
      env: { ...testEnvironment("schemas"), ...pytestEnvironment(), HANGAR_SCHEMAS: "200" },
    },
    {
      name: "types for macOS",
      command: [process.execPath, inClone(".ci/check-mac.mjs")],
      timeout_s: 35 * MINUTE_S,
    },
    {
      name: "fuzzed markup, requests and media",
      command: [process.execPath, inClone(".ci/more/fuzz.mjs"), "20"],
      timeout_s: 10 * MINUTE_S,
    },
    {
      name: "overhead",
      command: [process.execPath, inClone(".ci/bench.mjs"), "--rounds", "3"],
      timeout_s: 10 * MINUTE_S,
      env: {
        ...hangarEnvironment(),
        HANGAR_HOME: join(scratch, "overhead-home"),
      },
    },
    {
      name: "control plane",
      command: [process.execPath, inClone(".ci/bench.mjs"), "control", "--rounds", "3"],
      timeout_s: 10 * MINUTE_S,
      env: {
        ...hangarEnvironment(),
        HANGAR_HOME: join(scratch, "control-home"),
      },
    },
  ];
}

async function runUntilDeadline(steps, began) {
  const deadlineS = process.env.HANGAR_MORE_DEADLINE_S
    ? Number(process.env.HANGAR_MORE_DEADLINE_S)
    : Infinity;
  if (Number.isNaN(deadlineS))
    throw new Problem("HANGAR_MORE_DEADLINE_S is not a number", "set it to seconds, or unset it");
  const outcomes = [];
  for (const step of steps) {
    const leftS = deadlineS - (performance.now() - began) / 1000;
    if (leftS <= 0) process.stdout.write(`left out: ${step.name} (no time left)\n`);
    else outcomes.push(...(await runSteps([step])));
  }
  return outcomes;
}

const began = performance.now();
const scratch = mkdtempSync(join(tmpdir(), "hangar-more-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
try {
  const names = process.argv.slice(2).filter((argument) => argument !== "--list");
  const known = allSteps(scratch);
  if (process.argv.includes("--list")) {
    for (const { name, timeout_s } of known) process.stdout.write(`${name} (at most ${timeout_s} s)\n`);
    process.exit();
  }
  const unknown = names.find((name) => !known.some((step) => step.name === name));
  if (unknown !== undefined)
    throw new Problem(`no step is called “${unknown}”`, "npm run test:more -- --list");
  say("Setting up Hangar for its long tests");
  await setUp(setUpSteps({ forTests: true }), { quiet: true });
  const wanted = allSteps(scratch).filter(({ name }) => names.length === 0 || names.includes(name));
  const outcomes = await runUntilDeadline(wanted, began);
  process.exitCode = outcomes.length === 0 ? 0 : sumUp(outcomes, (performance.now() - began) / 1000);
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.stdout.write("0 passed, 1 failed\n");
  process.exitCode = 1;
}
