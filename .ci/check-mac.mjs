// npm run check:mac: type-checks every package for macOS on a machine that is none. Nothing is linked or run.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { aptInstall, atLeast, rustNeeded } from "./setup/machine.mjs";
import { CACHE, IS_MACOS, inClone, onPath } from "./setup/places.mjs";
import { Problem } from "./setup/problem.mjs";
import { ask, run } from "./setup/program.mjs";
import { say, sayProblem } from "./setup/say.mjs";
import { setUp } from "./setup/setup.mjs";

const TARGET = "aarch64-apple-darwin";
// Debian builds these for its browsers: a compiler together with the source of the very standard library it
// needs. rustup has no standard library of macOS for a Linux machine, and no source that fits a stable compiler.
const PACKAGES = ["rustc-web", "cargo-web", "rust-web-src"];
const RUSTC = "/usr/bin/rustc";
const CARGO = "/usr/bin/cargo";
const STANDARD_LIBRARY = "/usr/lib/rustlib/src/rust/library/std/src/lib.rs";
const APP = "hangar-app";
const LIMIT_S = 25 * 60;

const compilerStep = {
  name: "compiler",
  done() {
    if (![RUSTC, CARGO, STANDARD_LIBRARY].every((path) => existsSync(path))) return null;
    const version = ask(RUSTC, ["--version"])?.split(" ")[1];
    return version && atLeast(version, rustNeeded()) ? version : null;
  },
  async run() {
    const line = `apt-get install --no-install-recommends ${PACKAGES.join(" ")}`;
    if (onPath("apt-get") === null)
      throw new Problem(
        `the check needs Debian's packages ${PACKAGES.join(", ")}`,
        "run it on Debian, or run npm test on a Mac",
      );
    if (process.getuid() !== 0)
      throw new Problem("the compiler that can check for macOS is missing", `sudo ${line}`);
    await aptInstall(PACKAGES);
    const version = this.done();
    if (version === null)
      throw new Problem(
        `no compiler of ${rustNeeded()} or newer with its standard library's source came along`,
        line,
      );
    return version;
  },
};

// What Rust and the build scripts of libraries need: stand-ins for Apple's C compiler and SDK. None of it is a
// path of this clone, because libraries are checked anew whenever one of these changes.
function environment() {
  const name = TARGET.replaceAll("-", "_");
  const made = join(CACHE, "target-mac");
  return {
    RUSTC,
    RUSTDOC: "/usr/bin/rustdoc",
    // Building the standard library is not stable yet. Nothing that is made here is ever run or shipped.
    RUSTC_BOOTSTRAP: "1",
    CARGO_TARGET_DIR: made,
    RUSTC_WORKSPACE_WRAPPER: "",
    PATH: `${inClone(".ci/mac")}:${process.env.PATH}`,
    [`CC_${name}`]: "hangar-mac-cc",
    [`CXX_${name}`]: "hangar-mac-cc",
    [`AR_${name}`]: "hangar-mac-ar",
    [`RANLIB_${name}`]: "true",
    SDKROOT: made,
  };
}

// The packages of a plain cargo build, and the app, which is none of them.
function packages() {
  const answer = ask(CARGO, ["metadata", "--no-deps", "--offline", "--format-version", "1"], {
    cwd: inClone(),
    maxBuffer: 64 << 20,
  });
  if (answer === null)
    throw new Problem("cargo cannot read the workspace", "cargo metadata --no-deps, and mend what it says");
  const { packages: all, workspace_default_members: defaults } = JSON.parse(answer);
  const names = all.filter(({ id, name }) => defaults.includes(id) || name === APP).map(({ name }) => name);
  if (existsSync(inClone("src-tauri/Cargo.toml")) && !names.includes(APP))
    throw new Problem(
      `src-tauri/Cargo.toml is there, but no package ${APP}`,
      "name it among the workspace's members",
    );
  return names;
}

function checkArguments() {
  // Unoptimised, because the standard library is compiled and not only checked.
  const plain = ["profile.dev.opt-level=0", 'profile.dev.package."*".opt-level=0', "profile.dev.debug=false"];
  return [
    "check",
    "--locked",
    // By content: clones share the target folder, and a file that is older than another clone's check may differ from it.
    "-Zchecksum-freshness",
    "-Zbuild-std=core,alloc,std,panic_abort,proc_macro,test",
    "--target",
    TARGET,
    "--all-targets",
    ...plain.flatMap((setting) => ["--config", setting]),
    ...packages().flatMap((name) => ["--package", name]),
    "--features",
    "hangar-worker/python",
  ];
}

async function checkFromElsewhere() {
  await setUp([compilerStep]);
  const args = checkArguments();
  return run("check-mac", CARGO, args, { env: environment(), timeoutS: LIMIT_S, show: true });
}

function checkOnMac() {
  const args = ["check", "--locked", "--workspace", "--all-targets"];
  return run("check-mac", "cargo", args, { timeoutS: LIMIT_S, show: true });
}

try {
  say("Checking for macOS");
  const end = IS_MACOS ? await checkOnMac() : await checkFromElsewhere();
  if (end.status !== 0)
    throw new Problem(
      end.timedOut ? "the check took too long" : "some code does not compile for macOS",
      "see the compiler's lines above",
    );
  say(`  ok     everything compiles for macOS, in ${end.seconds.toFixed(1)} s`);
} catch (cause) {
  sayProblem(cause instanceof Problem ? cause : new Problem(cause.stack));
  process.exitCode = 1;
}
