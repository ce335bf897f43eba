// uv and maturin, pinned and hash-locked, in a folder of the cache; for the tests also pytest, ruff and mypy.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE, inClone } from "./places.mjs";
import { mustRun } from "./program.mjs";
import { findPython, pythonThatMakesVenvs } from "./python.mjs";
import { fingerprint, writeWhole } from "./stamp.mjs";

const TOOLS_LOCK = ".ci/setup/requirements-tools.txt";
const DEV_LOCK = "tests/python/requirements-dev.txt";
const CLIENTS_LOCK = "tests/clients/requirements.txt";
const PEER_LOCK = "tests/benchmarks/requirements-peer.txt";
const NETWORK_CURE = "check the network, then run the same again: what was downloaded is kept";

/** The folder of uv and maturin. */
export function toolsFolder() {
  return join(CACHE, "tools", fingerprint([TOOLS_LOCK], [process.arch]).slice(0, 16));
}

/** The folder of pytest, ruff and mypy, for the Python that the runtime is made with. */
export function devFolder() {
  const version = findPython()?.version ?? "none";
  return join(CACHE, "dev", fingerprint([DEV_LOCK], [version, process.arch]).slice(0, 16));
}

/** The folder of the Python clients that the server is tested with. */
export function clientsFolder() {
  const version = findPython()?.version ?? "none";
  return join(CACHE, "clients", fingerprint([CLIENTS_LOCK], [version, process.arch]).slice(0, 16));
}

/** The folder of the server that `hangar bench` measures beside ours. */
export function peerFolder() {
  const version = findPython()?.version ?? "none";
  return join(CACHE, "peer", fingerprint([PEER_LOCK], [version, process.arch]).slice(0, 16));
}

/** The variables that let programs find uv and maturin. */
export function toolsEnvironment() {
  return { PATH: `${join(toolsFolder(), "bin")}:${process.env.PATH}` };
}

/** uv and maturin are there. */
export const toolsStep = {
  name: "tools",
  done: () => (isWhole(toolsFolder()) ? "uv, maturin" : null),
  async run() {
    const folder = toolsFolder();
    await makeVenv("tools", folder, pythonThatMakesVenvs().path);
    const pip = [
      "-m",
      "pip",
      "install",
      "-q",
      "--require-hashes",
      "--only-binary",
      ":all:",
      "-r",
      inClone(TOOLS_LOCK),
    ];
    await mustRun("tools", join(folder, "bin/python"), pip, { cure: NETWORK_CURE, timeoutS: 900 });
    markWhole(folder);
    return "uv, maturin installed";
  },
};

/** pytest, ruff and mypy are there. */
export const devStep = lockedVenvStep("dev tools", devFolder, DEV_LOCK, "pytest, ruff, mypy");

/** The Python clients are there. */
export const clientsStep = lockedVenvStep("clients", clientsFolder, CLIENTS_LOCK, "openai");

/** The peer of `hangar bench` is there. */
export const peerStep = lockedVenvStep("bench peer", peerFolder, PEER_LOCK, "mlx_vlm.server");

/** A step that makes a venv from a hash-locked list. */
export function lockedVenvStep(name, folderOf, lock, holds) {
  return {
    name,
    done: () => (isWhole(folderOf()) ? holds : null),
    async run() {
      const folder = folderOf();
      rmSync(folder, { recursive: true, force: true });
      const uv = join(toolsFolder(), "bin/uv");
      const cure = NETWORK_CURE;
      await mustRun(name, uv, ["venv", "-q", "--no-config", "--python", findPython().path, folder], { cure });
      const python = join(folder, "bin/python");
      const install = ["pip", "install", "-q", "--no-config", "--python", python, "--require-hashes"];
      await mustRun(name, uv, [...install, "-r", inClone(lock)], { cure, timeoutS: 900 });
      markWhole(folder);
      return `${holds} installed`;
    },
  };
}

// A venv holds its own path, so it is made in its place; the mark says that it is complete.
const mark = (folder) => join(folder, ".whole");
const isWhole = (folder) => existsSync(mark(folder));
const markWhole = (folder) => writeWhole(mark(folder), "complete");

async function makeVenv(name, folder, python) {
  rmSync(folder, { recursive: true, force: true });
  const cure = "install Python's venv module (Debian: apt-get install python3-venv), then run the same again";
  await mustRun(name, python, ["-m", "venv", folder], { cure, timeoutS: 300 });
}
