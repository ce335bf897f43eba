// npm run bench -- [ARGS]: `hangar bench overhead` beside mlx-vlm's own server, which is installed first.
import { join } from "node:path";
import { hangarEnvironment } from "./setup/builds.mjs";
import { HANGAR } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { become } from "./setup/program.mjs";
import { sayProblem } from "./setup/say.mjs";
import { setUp, steps } from "./setup/setup.mjs";
import { peerFolder, peerStep } from "./setup/tools.mjs";

try {
  await setUp([...steps({ forTests: false }), peerStep]);
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
const peer = ["--peer", join(peerFolder(), "bin/python")];
const args = ["bench", "overhead", ...peer, ...process.argv.slice(2)];
process.exit(await become(HANGAR, args, { env: hangarEnvironment() }));
