/** Progress goes to standard error: standard output belongs to the program that is run. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Prints a problem: what happened, the program's own last lines, and last of all the cure. */
export function sayProblem(problem) {
  if (problem.said) say(problem.said.replaceAll(/^/gm, "         | "));
  say(`  failed ${problem.message}`);
  say(
    `  cure   ${problem.cure ?? "this is a fault of the set-up scripts: please report it with the lines above"}`,
  );
}
