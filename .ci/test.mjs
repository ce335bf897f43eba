// npm test: brings this clone up to date, then runs every check and test. `-- --only GROUP[,GROUP]` runs a part.
import { join } from "node:path";
import { pytest, pytestEnvironment } from "./pytest.mjs";
import { hangarEnvironment, packagesStep, runtimeFolder } from "./setup/builds.mjs";
import { nodeStep } from "./setup/machine.mjs";
import { BUILD, HANGAR, inClone, lintEnvironment } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp, steps as setUpSteps } from "./setup/setup.mjs";
import { clientsFolder, devFolder } from "./setup/tools.mjs";
import { runSteps, sumUp } from "./steps.mjs";

const GROUPS = ["checks", "page", "rust", "python", "real", "clients", "browser"];
/** Groups that mostly wait for a server of theirs run beside those that compute. */
const WAITING = ["real", "clients", "browser"];
const MINUTE_S = 60;

function pageSteps() {
  const bin = (name) => inClone("node_modules/.bin", name);
  const eslint = [
    bin("eslint"),
    "--config",
    "ui/eslint.config.js",
    "--max-warnings",
    "0",
    "ui",
    ".ci",
    "icons",
    "tests/real",
    "tests/clients",
    "tests/page",
  ];
  const prettier = [
    bin("prettier"),
    "--config",
    "ui/.prettierrc.json",
    "--check",
    "ui",
    ".ci",
    "icons",
    "tests/real",
    "tests/clients",
    "tests/page",
    "package.json",
  ];
  const types = [bin("svelte-check"), "--tsconfig", "ui/tsconfig.json", "--fail-on-warnings"];
  const vitest = [bin("vitest"), "run", "--config", "ui/vite.config.ts"];
  const one = (name, group, command, cure) => ({ name, group, command, cure, timeout_s: 5 * MINUTE_S });
  return [
    one("page format", "checks", prettier, "npm run ui:format"),
    one("page lint", "checks", eslint),
    one("page types", "checks", types),
    one("page tests", "page", vitest),
    one("icon tests", "page", [process.execPath, "--test", "icons/icons.test.mjs"]),
    one("set-up tests", "page", [process.execPath, "--test", ".ci/setup/"]),
  ];
}

function rustSteps() {
  const env = testEnvironment();
  const lint = ["cargo", "check", "--locked", "--all-targets"];
  return [
    {
      name: "rust format",
      group: "checks",
      command: ["cargo", "fmt", "--check"],
      timeout_s: MINUTE_S,
      cure: "cargo fmt",
    },
    {
      name: "rust lint",
      group: "checks",
      command: lint,
      timeout_s: 15 * MINUTE_S,
      env: lintEnvironment(),
    },
    {
      name: "rust tests",
      group: "rust",
      command: ["cargo", "test", "--locked", "--no-fail-fast"],
      timeout_s: 20 * MINUTE_S,
      env: { ...env, HANGAR_BINARY: HANGAR },
    },
  ];
}

function pythonSteps() {
  const dev = (name) => join(devFolder(), "bin", name);
  const runtime = join(runtimeFolder(), "bin/python");
  const ruff = [
    "--config",
    ".ci/ruff.toml",
    "--no-cache",
    "worker/python",
    "tests/python",
    "tests/clients",
    "tests/benchmarks",
    "worker/pocket/train",
  ];
  const types = [dev("mypy"), "--config-file", ".ci/mypy.ini", "--python-executable", runtime];
  return [
    { name: "python lint", group: "checks", command: [dev("ruff"), "check", ...ruff], timeout_s: MINUTE_S },
    {
      name: "python format",
      group: "checks",
      command: [dev("ruff"), "format", "--check", ...ruff],
      timeout_s: MINUTE_S,
      cure: `${dev("ruff")} format --config .ci/ruff.toml worker/python tests`,
    },
    { name: "python types", group: "checks", command: types, timeout_s: 5 * MINUTE_S },
    {
      name: "python tests",
      group: "python",
      command: pytest("tests/python"),
      timeout_s: 15 * MINUTE_S,
      env: { ...testEnvironment(), ...pytestEnvironment() },
    },
  ];
}

function realSteps() {
  return [
    {
      name: "real engine tests",
      group: "real",
      // Half a minute of silence is most of what some of them wait for.
      command: [process.execPath, "--test", "--test-concurrency=3", "tests/real/"],
      timeout_s: 10 * MINUTE_S,
      env: { ...testEnvironment(), HANGAR_BINARY: HANGAR },
    },
  ];
}

function clientSteps() {
  const python = join(clientsFolder(), "bin/python");
  const env = { ...testEnvironment(), HANGAR_BINARY: HANGAR, HANGAR_CLIENTS_PYTHON: python };
  const one = (name, command) => ({ name, group: "clients", command, timeout_s: 5 * MINUTE_S, env });
  return [
    one("openai for Python", [python, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "tests/clients"]),
    one("openai for Node", [
      process.execPath,
      "--test",
      "tests/clients/openai.test.mjs",
      "tests/clients/sdk.test.mjs",
    ]),
  ];
}

function browserSteps() {
  return [
    {
      name: "page in a browser",
      group: "browser",
      // One file at a time: each has a browser and models of its own.
      command: [process.execPath, "--test", "--test-concurrency=1", "tests/page/"],
      timeout_s: 10 * MINUTE_S,
      env: { ...testEnvironment(), HANGAR_BINARY: HANGAR },
    },
  ];
}

// Whatever a test starts keeps its state away from the person's own.
function testEnvironment() {
  return { ...hangarEnvironment(), HANGAR_HOME: join(BUILD, "test-home") };
}

function wantedGroups() {
  const at = process.argv.indexOf("--only");
  if (at < 0) return GROUPS;
  const wanted = (process.argv[at + 1] ?? "").split(",");
  const unknown = wanted.find((group) => !GROUPS.includes(group));
  if (unknown !== undefined)
    throw new Problem(`--only ${unknown}: no such group`, `one or more of ${GROUPS.join(",")}`);
  return wanted;
}

const began = performance.now();
try {
  const groups = wantedGroups();
  say("Setting up Hangar for its tests");
  const onlyPage = groups.every((group) => group === "page");
  await setUp(onlyPage ? [nodeStep, packagesStep] : setUpSteps({ forTests: true }));
  const steps = onlyPage
    ? pageSteps()
    : [...pageSteps(), ...rustSteps(), ...pythonSteps(), ...realSteps(), ...clientSteps(), ...browserSteps()];
  say("Testing");
  const wanted = steps.filter(({ group }) => groups.includes(group));
  const outcomes = await runSteps(
    wanted.map((step) => ({ ...step, lane: WAITING.includes(step.group) ? "waits" : "computes" })),
  );
  process.exitCode = sumUp(outcomes, (performance.now() - began) / 1000);
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.stdout.write("0 passed, 1 failed\n");
  process.exitCode = 1;
}
