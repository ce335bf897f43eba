// npm start: brings this clone up to date, then serves in the foreground.
import { hangarEnvironment } from "./setup/builds.mjs";
import { HANGAR } from "./setup/places.mjs";
import { become } from "./setup/program.mjs";
import { Problem } from "./setup/problem.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp, steps } from "./setup/setup.mjs";

const onlySetUp = process.argv.includes("--only-setup");
const forTests = process.argv.includes("--for-tests");

try {
  say("Setting up Hangar");
  await setUp(steps({ forTests }));
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
if (!onlySetUp) process.exit(await become(HANGAR, ["serve"], { env: hangarEnvironment() }));
