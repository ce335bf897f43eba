// What the machine itself must have: Node, a C compiler, system libraries, Rust.
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { CACHE, IS_MACOS, TARGET, inClone, onPath, whyUnusable } from "./places.mjs";
import { Problem } from "./problem.mjs";
import { ask, mustRun } from "./program.mjs";
import { findPython, forgetPythons, pythonThatMakesVenvs, wrongPython } from "./python.mjs";
import { say } from "./say.mjs";
import { readText } from "./stamp.mjs";

const NODE_NEEDED = "20.19.0";
const AS_ROOT = !IS_MACOS && process.getuid?.() === 0;

/** Node is new enough for the page's build. */
export const nodeStep = {
  name: "node",
  done: () => (atLeast(process.versions.node, NODE_NEEDED) ? process.versions.node : null),
  run() {
    const cure = IS_MACOS
      ? "brew install node"
      : "install Node 20.19 or newer from nodejs.org or your distribution";
    throw new Problem(`Node ${process.versions.node} is too old, ${NODE_NEEDED} is needed`, cure);
  },
};

/** What the environment names can be used: said before anything is installed or built. */
export const wishesStep = {
  name: "settings",
  // The lock lies in a folder that is looked at here.
  locksItself: true,
  done: () => (firstWrong() === null ? "usable" : null),
  run() {
    throw firstWrong();
  },
};

function firstWrong() {
  if (process.env.HANGAR_PYTHON && findPython() === null) return wrongPython();
  for (const [variable, folder] of [
    ["HANGAR_CACHE", CACHE],
    ["HANGAR_TARGET", TARGET],
    ["HANGAR_HOME", process.env.HANGAR_HOME],
  ]) {
    const why = folder ? whyUnusable(resolve(folder)) : null;
    if (why !== null)
      return new Problem(
        `${folder} cannot be written: ${why}`,
        `set ${variable} to a folder that can be written`,
      );
  }
  return null;
}

/** Compilers and libraries of the operating system. */
export const systemStep = (forTests) => ({
  name: "system",
  done: () => (missingPackages(forTests).length === 0 && toolsOfXcode() ? "nothing missing" : null),
  async run() {
    if (IS_MACOS) return installOnMacos(forTests);
    const missing = missingPackages(forTests);
    const needed = missing.filter(({ optional }) => !optional).map((entry) => entry.debian);
    const all = missing.map((entry) => entry.debian);
    if (onPath("apt-get") === null) {
      if (needed.length > 0)
        throw new Problem(
          `missing: ${needed.join(", ")} (Debian's names)`,
          "install them with your distribution's tool, then run the same again",
        );
    } else if (AS_ROOT) {
      await aptInstall(all);
    } else if (needed.length > 0) {
      throw new Problem("some system packages are missing", `sudo apt-get install ${all.join(" ")}`);
    }
    const left = missingPackages(forTests);
    const stillNeeded = left.filter(({ optional }) => !optional);
    if (stillNeeded.length > 0)
      throw new Problem(
        `still missing: ${stillNeeded.map((entry) => entry.debian)}`,
        `apt-get install ${stillNeeded.map((entry) => entry.debian).join(" ")}`,
      );
    for (const { debian, optional } of left)
      say(`  note   without ${debian} ${optional}; sudo apt-get install ${debian}`);
    return "complete";
  },
});

/** Rust is there and new enough. */
export const rustStep = (forTests) => ({
  name: "rust",
  done() {
    const version = ask("cargo", ["--version"])?.split(" ")[1];
    if (!version || !atLeast(version, rustNeeded())) return null;
    if (forTests && rustParts().length > 0) return null;
    return version;
  },
  run() {
    const version = ask("cargo", ["--version"])?.split(" ")[1];
    const get = IS_MACOS ? "brew install rust" : "install Rust from https://rustup.rs, then open a new shell";
    if (!version) throw new Problem("no cargo on PATH", get);
    if (!atLeast(version, rustNeeded()))
      throw new Problem(
        `Rust ${version} is too old, ${rustNeeded()} is needed`,
        IS_MACOS && onPath("rustup") === null ? "brew upgrade rust" : "rustup update stable",
      );
    throw new Problem(
      `Rust lacks ${rustParts().join(" and ")}`,
      `rustup component add ${rustParts().join(" ")}`,
    );
  },
});

/** True when version `have` is `needed` or newer. */
export function atLeast(have, needed) {
  const [a, b] = [have, needed].map((version) => version.split(/[.+-]/).map(Number));
  for (let part = 0; part < 3; part++) {
    if ((a[part] ?? 0) !== (b[part] ?? 0)) return (a[part] ?? 0) > (b[part] ?? 0);
  }
  return true;
}

/** Installs Debian packages as root, without questions. */
export async function aptInstall(packages) {
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const cure = `apt-get update && apt-get install ${packages.join(" ")}`;
  await mustRun("apt-get update", "apt-get", ["update", "-q"], { env, cure, timeoutS: 600 });
  const args = ["install", "-y", "-q", "--no-install-recommends", ...packages];
  await mustRun("apt-get install", "apt-get", args, { env, cure, timeoutS: 1800 });
  forgetPythons();
}

/** The OpenBLAS of the system on Linux; null where there is none. */
export function openblas() {
  if (IS_MACOS) return null;
  const libraries = ["/usr/lib", "/usr/lib64", ...machineFolders()];
  return (
    libraries
      .flatMap((folder) => [`${folder}/openblas-pthread/libopenblas.so.0`, `${folder}/libopenblas.so.0`])
      .find((file) => existsSync(file)) ?? null
  );
}

function missingPackages(forTests) {
  if (IS_MACOS) return [];
  const missing = [];
  const need = (present, debian, optional = "") => present || missing.push({ debian, optional });
  need(onPath("cc") && onPath("make") && existsSync("/usr/include/stdio.h"), "build-essential");
  need(onPath("pkg-config"), "pkg-config");
  const python = pythonThatMakesVenvs();
  need(findPython() !== null, "python3");
  need(python !== null, "python3-venv");
  need(openblas() !== null, "libopenblas0-pthread", "the model runs several times slower");
  if (forTests) need(onPath("espeak-ng"), "espeak-ng");
  if (forTests) need(onPath("chromium") ?? onPath("google-chrome"), "chromium");
  return missing;
}

// Before the command line tools are there, /usr/bin/python3, git and cc only open a dialogue.
function toolsOfXcode() {
  return !IS_MACOS || ask("xcode-select", ["-p"]) !== null;
}

function installOnMacos() {
  if (!toolsOfXcode())
    throw new Problem("Apple's command line tools are not installed", "xcode-select --install");
  return "complete";
}

/** The oldest Rust that builds this. */
export function rustNeeded() {
  return readText(inClone("Cargo.toml"))?.match(/^rust-version = "([\d.]+)"/m)?.[1] ?? "1.90";
}

function rustParts() {
  return ["clippy", "fmt"]
    .filter((part) => ask("cargo", [part, "--version"]) === null)
    .map((part) => (part === "fmt" ? "rustfmt" : part));
}

/** Folders of this machine's own libraries. */
export function machineFolders() {
  return readdirSync("/usr/lib")
    .filter((name) => name.endsWith("-linux-gnu"))
    .map((name) => `/usr/lib/${name}`);
}
