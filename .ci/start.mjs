// npm start: brings this clone up to date, then opens the app, or serves without it where no window would be seen.
import { APP, displayShowsWindows } from "./setup/app.mjs";
import { hangarEnvironment } from "./setup/builds.mjs";
import { HANGAR } from "./setup/places.mjs";
import { become } from "./setup/program.mjs";
import { Problem } from "./setup/problem.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp, steps } from "./setup/setup.mjs";

const onlySetUp = process.argv.includes("--only-setup");
const forTests = process.argv.includes("--for-tests");
const app = !onlySetUp && displayShowsWindows();

try {
  say("Setting up Hangar");
  await setUp(steps({ forTests, app }));
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
const [program, args] = app ? [APP, []] : [HANGAR, ["serve"]];
if (!onlySetUp) process.exit(await become(program, args, { env: hangarEnvironment() }));
