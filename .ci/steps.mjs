// Runs a list of steps {name, group, lane, command, timeout_s, env, cwd}, each told with its seconds, and sums up.
import { lastLines, run } from "./setup/program.mjs";
import { say } from "./setup/say.mjs";

const LINES_OF_A_FAILURE = 60;
const LINES_OF_A_LOG = 100_000;
// What a failed test is called is often far above the end of the output.
const isFailure = (line) => /^\s*(not ok|✖|FAIL|FAILED)\b|^test .* FAILED$|^\s+error: /.test(line);
const CLOSING_LINES =
  /^(test result:.*|(?:# )?figures:.*|=+ .*(passed|failed|error).* =+|.*\d+ passed.* in [\d.]+s.*|\s*Tests\s+.*passed.*)$/;

/** Runs every step, the failed ones included; returns their outcomes in order. Lanes run side by side. */
export async function runSteps(steps) {
  const outcomes = new Map();
  const lanes = [...new Set(steps.map(({ lane }) => lane))];
  await Promise.all(
    lanes.map(async (lane) => {
      for (const step of steps.filter((each) => each.lane === lane)) outcomes.set(step, await runStep(step));
    }),
  );
  return steps.map((step) => outcomes.get(step));
}

async function runStep(step) {
  say(`  …      ${step.name}`);
  const [program, ...args] = step.command;
  const end = await run(step.name, program, args, {
    env: step.env,
    cwd: step.cwd,
    timeoutS: step.timeout_s,
  });
  const outcome = { name: step.name, seconds: end.seconds, result: resultOf(end) };
  if (outcome.result !== "ok") {
    const whole = lastLines(end.log, LINES_OF_A_LOG).split("\n");
    const shown = [
      ...whole.slice(0, -LINES_OF_A_FAILURE).filter(isFailure),
      ...whole.slice(-LINES_OF_A_FAILURE),
    ];
    say(shown.join("\n").replaceAll(/^/gm, "         | "));
    say(`  failed ${step.name}: ${outcome.result} (all output: ${end.log})`);
    say(`  cure   ${step.cure ?? `run it alone: ${step.command.join(" ")}`}`);
  } else {
    say(`  ok     ${step.name} in ${end.seconds.toFixed(1)} s`);
    for (const line of closingLines(end.log)) process.stdout.write(`         ${line}\n`);
  }
  return outcome;
}

/** Prints the table and the closing line; returns the exit status. */
export function sumUp(outcomes, totalSeconds) {
  const width = Math.max(...outcomes.map(({ name }) => name.length), 5);
  process.stdout.write("\n");
  for (const { name, seconds, result } of outcomes) {
    process.stdout.write(`${name.padEnd(width)}  ${seconds.toFixed(1).padStart(7)} s  ${result}\n`);
  }
  process.stdout.write(`${"total".padEnd(width)}  ${totalSeconds.toFixed(1).padStart(7)} s\n\n`);
  const failed = outcomes.filter(({ result }) => result !== "ok").length;
  process.stdout.write(`${outcomes.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

function resultOf({ status, timedOut, missing }) {
  if (timedOut) return "timed out";
  if (missing) return "program not found";
  return status === 0 ? "ok" : `failed with ${status}`;
}

function closingLines(log) {
  // eslint-disable-next-line no-control-regex
  const plain = lastLines(log, LINES_OF_A_LOG).replaceAll(/\u001b\[[\d;]*m/g, "");
  return plain.split("\n").filter((line) => CLOSING_LINES.test(line) && !/ 0 passed; 0 failed/.test(line));
}
