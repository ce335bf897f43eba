// npm run bench -- [NAME] [ARGS]: `hangar bench NAME` (overhead unless said), with what it measures against made first.
import { join } from "node:path";
import { hangarEnvironment, scriptedServerStep } from "./setup/builds.mjs";
import { BUILD, HANGAR, inClone } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { become } from "./setup/program.mjs";
import { sayProblem } from "./setup/say.mjs";
import { setUp, steps } from "./setup/setup.mjs";
import { peerFolder, peerStep } from "./setup/tools.mjs";

const BENCHES = {
  overhead: {
    step: peerStep,
    args: () => ["--peer", join(peerFolder(), "bin/python")],
  },
  media: { step: null, args: () => ["--files", inClone("tests/fixtures/media")] },
  chat: { step: scriptedServerStep, args: () => ["--scripted-server", join(BUILD, "bin/fake-server")] },
  control: {
    step: scriptedServerStep,
    args: () => ["--scripted-server", join(BUILD, "bin/fake-server")],
  },
};

const given = process.argv.slice(2);
const name = given[0] && !given[0].startsWith("-") ? given.shift() : "overhead";
try {
  if (!Object.hasOwn(BENCHES, name))
    throw new Problem(`no bench is called “${name}”`, `say one of ${Object.keys(BENCHES).join(", ")}`);
  await setUp([...steps({ forTests: false }), BENCHES[name].step].filter((step) => step !== null));
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
const args = ["bench", name, ...BENCHES[name].args(), ...given];
process.exit(await become(HANGAR, args, { env: hangarEnvironment() }));
