// Finds the Pythons of this machine: one for the runtime (3.11 to 3.14), any that can make a venv for the tools.
import { realpathSync } from "node:fs";
import { CACHE, IS_MACOS, onPath } from "./places.mjs";
import { Problem } from "./problem.mjs";
import { ask, mustRun } from "./program.mjs";
import { toolsFolder } from "./tools.mjs";

const OLDEST = 11;
const NEWEST = 14;
const MANAGED = "3.12";
const NAMES = [
  ...Array.from({ length: NEWEST - OLDEST + 1 }, (_, index) => `python3.${NEWEST - index}`),
  "python3",
];
const FACTS = `import sys, json
try:
    import venv, ensurepip
    makes_venvs = True
except ImportError:
    makes_venvs = False
print(json.dumps([sys.executable, sys.version_info[1], makes_venvs, "%d.%d.%d" % sys.version_info[:3]]))`;

const known = new Map();

/** Looks anew from here on: something was installed. */
export function forgetPythons() {
  known.clear();
}

/** The Python that the runtime is made with: {path, minor, version}; null when there is none. */
export function findPython() {
  const wanted = process.env.HANGAR_PYTHON;
  const names = wanted ? [wanted] : NAMES;
  for (const name of names) {
    const facts = look(name);
    if (facts !== null && facts.minor >= OLDEST && facts.minor <= NEWEST) return facts;
  }
  return managedPython();
}

/** A Python that can make a venv, whatever its version; null when there is none. */
export function pythonThatMakesVenvs() {
  const wanted = process.env.HANGAR_PYTHON;
  for (const name of wanted ? [wanted, ...NAMES] : NAMES) {
    const facts = look(name);
    if (facts?.makesVenvs && facts.minor >= 9) return facts;
  }
  return null;
}

/** The named Python is not one that the runtime can be made with. */
export function wrongPython() {
  return new Problem(
    `HANGAR_PYTHON=${process.env.HANGAR_PYTHON} is no Python 3.${OLDEST} to 3.${NEWEST}`,
    "point HANGAR_PYTHON at one, or unset it",
  );
}

/** A Python for the runtime is there; on macOS uv brings one where none is. */
export const pythonStep = {
  name: "python",
  done() {
    const python = findPython();
    return python === null ? null : `${python.version} at ${python.path}`;
  },
  async run() {
    if (process.env.HANGAR_PYTHON) throw wrongPython();
    if (!IS_MACOS) {
      throw new Problem(
        `no Python 3.${OLDEST} to 3.${NEWEST}`,
        "install one (Debian 12 and later: sudo apt-get install python3 python3-venv), or point HANGAR_PYTHON at one",
      );
    }
    const uv = `${toolsFolder()}/bin/uv`;
    await mustRun("python from uv", uv, ["python", "install", MANAGED], {
      cure: "brew install python@3.12",
      env: { UV_PYTHON_INSTALL_DIR: `${CACHE}/python` },
    });
    forgetPythons();
    return this.done() ?? "installed";
  },
};

function managedPython() {
  if (!IS_MACOS || process.env.HANGAR_PYTHON) return null;
  const uv = `${toolsFolder()}/bin/uv`;
  const env = { ...process.env, UV_PYTHON_INSTALL_DIR: `${CACHE}/python` };
  const found = ask(uv, ["python", "find", "--managed-python", "--offline", MANAGED], { env });
  return found === null ? null : look(found);
}

function look(name) {
  if (known.has(name)) return known.get(name);
  const program = name.includes("/") ? name : onPath(name);
  const answer = program === null || isOnlyADoor(program) ? null : ask(program, ["-I", "-c", FACTS]);
  let facts = null;
  if (answer !== null) {
    facts = factsFrom(answer, program);
  }
  known.set(name, facts);
  return facts;
}

// A program that is no Python may print anything, or nothing.
function factsFrom(answer, program) {
  try {
    const [path, minor, makesVenvs, version] = JSON.parse(answer);
    return { path: path || realpathSync(program), minor, makesVenvs, version };
  } catch {
    return null;
  }
}

// On a Mac without the command line tools this name opens a dialogue instead of running.
function isOnlyADoor(program) {
  return IS_MACOS && program === "/usr/bin/python3" && ask("xcode-select", ["-p"]) === null;
}
