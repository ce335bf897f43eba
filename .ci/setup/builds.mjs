// What is built from this clone: the page, the command, the worker's wheel, the Python runtime.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { BUILD, HANGAR, IS_MACOS, RUNTIMES, TARGET, WHEELS, inClone, projectEnvironment } from "./places.mjs";
import { Problem } from "./problem.mjs";
import { ask, lastLines, mustRun } from "./program.mjs";
import { findPython } from "./python.mjs";
import { clearStamp, fingerprint, readStamp, readText, writeStamp, writeWhole } from "./stamp.mjs";
import { toolsEnvironment, toolsFolder } from "./tools.mjs";

/** What to do when our sources do not build. */
export const COMPILE_CURE = "the lines above say what does not build; a clean tree of the main branch does";
/** What the server is built from. */
export const SERVER_INPUTS = [
  "Cargo.toml",
  "Cargo.lock",
  ".cargo",
  "src-tauri/crates",
  "worker/protocol",
  "worker/Cargo.toml",
  "worker/src",
  "config",
];
const WORKER_INPUTS = [
  "Cargo.toml",
  "Cargo.lock",
  ".cargo",
  "worker/Cargo.toml",
  "worker/pyproject.toml",
  "worker/src",
  "worker/python",
  "worker/protocol",
];
const PAGE_INPUTS = ["package-lock.json", "icons/hangar.svg", "ui"];
const RUNTIME_PATH = join(BUILD, "runtime.path");

/** The page's packages are installed. */
export const packagesStep = stamped("packages", {
  inputs: ["package-lock.json"],
  facts: () => [process.versions.modules, process.platform, process.arch],
  outputs: [inClone("node_modules/.package-lock.json")],
  async run() {
    // Nothing we use needs an install script, so none is run.
    await mustRun("npm ci", "npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cure: "check the network, then run the same again",
      timeoutS: 900,
    });
  },
});

/** The page is built into ui/dist. */
export const pageStep = stamped("page", {
  inputs: PAGE_INPUTS,
  outputs: [inClone("ui/dist/index.html")],
  async run() {
    const fresh = join(BUILD, "page.new");
    rmSync(fresh, { recursive: true, force: true });
    const vite = inClone("node_modules/vite/bin/vite.js");
    await mustRun("page", process.execPath, [vite, "build", "--config", "ui/vite.config.ts"], {
      cure: COMPILE_CURE,
      env: { HANGAR_UI_OUT: fresh },
      timeoutS: 300,
    });
    rmSync(inClone("ui/dist"), { recursive: true, force: true });
    renameSync(fresh, inClone("ui/dist"));
  },
});

/** The `hangar` command is built. */
export const serverStep = stamped("server", {
  inputs: SERVER_INPUTS,
  facts: () => [ask("rustc", ["--version"]), TARGET],
  outputs: [HANGAR],
  async run() {
    await mustRun("server", "cargo", ["build", "--locked", "-p", "hangar-cli"], {
      cure: COMPILE_CURE,
      timeoutS: 2400,
    });
    putIntoBin("hangar");
  },
});

/** The server with a scripted worker is built: long runs and faults are measured with it. */
export const scriptedServerStep = stamped("scripted", {
  inputs: [...SERVER_INPUTS, "tests/Cargo.toml", "tests/support"],
  facts: () => [ask("rustc", ["--version"]), TARGET],
  outputs: [join(BUILD, "bin/fake-server"), join(BUILD, "bin/fake-worker")],
  async run() {
    await mustRun("scripted server", "cargo", ["build", "--locked", "-p", "hangar-tests", "--bins"], {
      cure: COMPILE_CURE,
      timeoutS: 2400,
    });
    putIntoBin("fake-server");
    putIntoBin("fake-worker");
  },
});

/** The worker's wheel is built, or HANGAR_WORKER_WHEEL names a ready one. */
export const workerStep = {
  name: "worker",
  done() {
    const ready = process.env.HANGAR_WORKER_WHEEL;
    if (ready) return existsSync(ready) ? ready : null;
    const isCurrent = readStamp("worker")?.split(" ")[0] === workerFingerprint();
    return isCurrent && builtWheel() !== null ? basename(builtWheel()) : null;
  },
  async run() {
    if (process.env.HANGAR_WORKER_WHEEL) {
      throw new Problem(
        `HANGAR_WORKER_WHEEL=${process.env.HANGAR_WORKER_WHEEL} does not exist`,
        "point it at a wheel of hangar_worker, or unset it",
      );
    }
    clearStamp("worker");
    const fresh = join(BUILD, "wheels.new");
    rmSync(fresh, { recursive: true, force: true });
    const args = [
      "build",
      "--locked",
      "--profile",
      "dev",
      "--manifest-path",
      "worker/Cargo.toml",
      "--interpreter",
      findPython().path,
      "--out",
      fresh,
    ];
    // The wheel stays on this machine, so the check that it fits old systems is not wanted.
    if (!IS_MACOS) args.push("--compatibility", "linux");
    await mustRun("worker", join(toolsFolder(), "bin/maturin"), args, {
      cure: COMPILE_CURE,
      timeoutS: 1800,
    });
    const wheel = readdirSync(fresh).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Problem("maturin left no wheel", COMPILE_CURE);
    rmSync(WHEELS, { recursive: true, force: true });
    renameSync(fresh, WHEELS);
    writeStamp("worker", `${workerFingerprint()} ${wheel}`);
    return wheel;
  },
};

/** The Python runtime is whole; `hangar` itself knows how to make one. */
export const runtimeStep = {
  name: "runtime",
  locksItself: true,
  done: () => null,
  async run() {
    const args = ["runtime", "ensure", "--runtimes-dir", RUNTIMES, "--print-path"];
    const end = await mustRun("runtime", HANGAR, args, {
      cure: "see above; what was downloaded is kept, so run the same again",
      env: runtimeMakingEnvironment(),
      timeoutS: 2400,
    });
    const path = lastLines(end.log, 1).trim();
    if (!path.startsWith("/") || !existsSync(path))
      throw new Problem(`hangar runtime ensure answered “${path}”, not a folder`, `see ${end.log}`);
    writeWhole(RUNTIME_PATH, path);
    return path;
  },
};

/** The runtime folder this clone was last set up with; null before that. HANGAR_RUNTIME wins. */
export function runtimeFolder() {
  return process.env.HANGAR_RUNTIME || readText(RUNTIME_PATH);
}

/** The variables that `hangar` is started with. */
export function hangarEnvironment() {
  const runtime = runtimeFolder();
  const wheel = process.env.HANGAR_WORKER_WHEEL || builtWheel();
  return projectEnvironment({
    ...toolsEnvironment(),
    ...(runtime ? { HANGAR_RUNTIME: runtime } : {}),
    ...(wheel ? { HANGAR_WORKER_WHEEL: wheel } : {}),
  });
}

// The folder is found anew: the one of the last set-up may be of other packages or another worker.
function runtimeMakingEnvironment() {
  return {
    ...hangarEnvironment(),
    HANGAR_RUNTIME: process.env.HANGAR_RUNTIME,
    HANGAR_PYTHON: findPython().path,
  };
}

function builtWheel() {
  const name = readStamp("worker")?.split(" ")[1];
  return name && existsSync(join(WHEELS, name)) ? join(WHEELS, name) : null;
}

function workerFingerprint() {
  return fingerprint(WORKER_INPUTS, [findPython()?.version, process.arch]);
}

/** Copies a built program to `.build/bin`: the target folder is shared between clones, the copy is this clone's own. */
export function putIntoBin(name) {
  const place = join(BUILD, "bin", name);
  mkdirSync(join(BUILD, "bin"), { recursive: true });
  copyFileSync(join(TARGET, "debug", name), `${place}.new`);
  chmodSync(`${place}.new`, 0o755);
  renameSync(`${place}.new`, place);
}

/** A step that is done again only when its inputs or facts have changed. */
export function stamped(name, { inputs, facts = () => [], outputs, run }) {
  const value = () => fingerprint(inputs, facts());
  return {
    name,
    done: () =>
      outputs.every((path) => existsSync(path)) && readStamp(name) === value() ? "up to date" : null,
    async run() {
      clearStamp(name);
      const made = value();
      await run();
      writeStamp(name, made);
      return "built";
    },
  };
}
