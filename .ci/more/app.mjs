// The desktop app: lint, its own tests, and its tray and window on a display and a bus of the tests' own.
import { join } from "node:path";
import { APP, appSteps, appTestSteps, appTestsFolder } from "../setup/app.mjs";
import { hangarEnvironment } from "../setup/builds.mjs";
import { HANGAR, IS_MACOS, lintEnvironment } from "../setup/places.mjs";
import { Problem } from "../setup/problem.mjs";
import { run } from "../setup/program.mjs";
import { say, sayProblem } from "../setup/say.mjs";
import { setUp } from "../setup/setup.mjs";

const MINUTE_S = 60;
const python = () => join(appTestsFolder(), "bin/python");
const lint = ["check", "--locked", "-p", "hangar-app", "--all-targets"];
const pytest = ["-B", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rP", "tests/app"];

const steps = [
  { name: "app lint", program: () => "cargo", args: lint, env: lintEnvironment() },
  { name: "app tests", program: () => "cargo", args: ["test", "--locked", "-p", "hangar-app"] },
  {
    name: "tray and window",
    program: python,
    args: [...pytest, ...process.argv.slice(2)],
    env: { HANGAR_APP: APP, HANGAR_BINARY: HANGAR },
    // There is neither a driver for the window nor a bus on a Mac: see docs/mac-checklist.md.
    onMacos: false,
  },
  {
    name: "pictures of the window",
    program: () => process.execPath,
    args: ["--test", "tests/app/pictures.test.mjs"],
    onMacos: false,
  },
];

try {
  await setUp([...appSteps, ...(IS_MACOS ? [] : appTestSteps)]);
  for (const { name, program, args, env = {}, onMacos = true } of steps) {
    if (IS_MACOS && !onMacos) continue;
    say(`  …      ${name}`);
    const timeoutS = 25 * MINUTE_S;
    const end = await run(name, program(), args, {
      env: { ...hangarEnvironment(), ...env },
      timeoutS,
      show: true,
    });
    if (end.status !== 0) throw new Problem(`${name} failed with ${end.status}`, "the lines above say where");
  }
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
