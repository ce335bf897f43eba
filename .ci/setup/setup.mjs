// Runs set-up steps in order: what is done is skipped, what is not is done while holding the lock.
import { appSteps } from "./app.mjs";
import { packagesStep, pageStep, runtimeStep, serverStep, workerStep } from "./builds.mjs";
import { takeLock } from "./lock.mjs";
import { nodeStep, rustStep, systemStep, wishesStep } from "./machine.mjs";
import { LOCK } from "./places.mjs";
import { pythonStep } from "./python.mjs";
import { say } from "./say.mjs";
import { clientsStep, devStep, toolsStep } from "./tools.mjs";

const WHAT_TAKES_LONG = {
  packages: "installing",
  server: "building",
  scripted: "building",
  window: "installing",
  app: "building, several minutes the first time",
  worker: "building",
  runtime: "checking",
  tools: "installing",
};

/** Every step of a set-up, in order; the app only where it is wanted. */
export function steps({ forTests = false, app = false } = {}) {
  const all = [
    nodeStep,
    wishesStep,
    systemStep(forTests),
    rustStep(forTests),
    toolsStep,
    pythonStep,
    packagesStep,
    pageStep,
    serverStep,
    workerStep,
    runtimeStep,
    ...(app ? appSteps : []),
  ];
  return forTests ? [...all, devStep, clientsStep] : all;
}

/** Runs steps; throws the first Problem. With `quiet` only what is really done is told. */
export async function setUp(list, { quiet = false } = {}) {
  let giveBack = null;
  try {
    for (const step of list) {
      const began = performance.now();
      const tell = (note) => say(`  ok     ${step.name.padEnd(10)} ${seconds(began)}  ${note}`);
      let note = step.done();
      if (note !== null) {
        if (!quiet) tell(note);
        continue;
      }
      if (!step.locksItself) giveBack ??= await takeLock(LOCK);
      note = step.done();
      if (note === null) {
        const doing = WHAT_TAKES_LONG[step.name];
        if (doing) say(`  …      ${step.name.padEnd(10)} ${doing}`);
        note = await step.run();
      }
      tell(note);
    }
  } finally {
    giveBack?.();
  }
}

function seconds(began) {
  return `${((performance.now() - began) / 1000).toFixed(1)} s`.padStart(8);
}
