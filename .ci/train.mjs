// npm run pocket:train -- learn|score|publish: makes the built-in model anew, on two cores of this machine.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE, CLONE, IS_MACOS, inClone, onPath } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { mustRun, run } from "./setup/program.mjs";
import { findPython } from "./setup/python.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { openblas } from "./setup/machine.mjs";
import { readText, writeWhole } from "./setup/stamp.mjs";

const MINUTE_S = 60;
const TRAIN = "worker/pocket/train";
const WORK = join(CACHE, "train");
const VENV = join(WORK, "venv");
// The runtime's own packages first: what is learned here is scored by the engine that will run it.
const LOCKS = ["runtime-patches/requirements-linux-x86_64.txt", `${TRAIN}/requirements.txt`];

async function makeVenv(python) {
  const key = createHash("sha256");
  for (const lock of LOCKS) key.update(readFileSync(inClone(lock)));
  const wanted = `${python.version} ${key.digest("hex")}`;
  const stamp = join(VENV, "hangar-stamp");
  if (readText(stamp) === wanted) return;
  rmSync(VENV, { recursive: true, force: true });
  await mustRun("train venv", python.path, ["-m", "venv", VENV], { cure: "install python3-venv" });
  for (const lock of LOCKS) {
    const args = ["-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps", "-r", lock];
    await mustRun("train packages", join(VENV, "bin/python"), args, {
      cure: "check the network, then run the same again",
      timeoutS: 20 * MINUTE_S,
    });
  }
  writeWhole(stamp, wanted);
}

async function main(args) {
  if (IS_MACOS)
    throw new Problem("the model is made on Linux", "run it there; its files are the same everywhere");
  if (onPath("espeak-ng") === null)
    throw new Problem("espeak-ng speaks what the model learns to hear", "sudo apt-get install espeak-ng");
  const python = findPython();
  if (python === null || !existsSync(inClone(LOCKS[0]))) throw new Problem("no Python", "npm run setup");
  await makeVenv(python);
  const blas = openblas();
  const env = {
    PYTHONPATH: [inClone("worker/python"), inClone(TRAIN)].join(":"),
    TRANSFORMERS_VERBOSITY: "error",
    ...(blas === null ? {} : { LD_PRELOAD: blas }),
  };
  // Others use the machine too.
  const command = ["-n", "5", join(VENV, "bin/python"), "-B", "-m", "pocket_train", "--work", WORK, ...args];
  const end = await run("pocket training", "nice", command, {
    env,
    cwd: CLONE,
    timeoutS: 12 * 3600,
    show: true,
  });
  return end.status ?? 1;
}

try {
  const args = process.argv.slice(2);
  if (args.length === 0) {
    say("say what to do: learn, score or publish (npm run pocket:train -- learn)");
    process.exit(2);
  }
  process.exit(await main(args));
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exit(1);
}
