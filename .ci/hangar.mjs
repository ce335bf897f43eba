// npm run -s hangar -- ARGS: the command of this clone, built first when its sources have changed.
import { hangarEnvironment, serverStep } from "./setup/builds.mjs";
import { HANGAR } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { become } from "./setup/program.mjs";
import { sayProblem } from "./setup/say.mjs";
import { setUp } from "./setup/setup.mjs";

try {
  await setUp([serverStep], { quiet: true });
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
// npm moves to the clone's root; paths in arguments are meant from where the person stands.
const cwd = process.env.INIT_CWD ?? process.cwd();
process.exit(await become(HANGAR, process.argv.slice(2), { cwd, env: hangarEnvironment() }));
