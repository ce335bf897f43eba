// How the Python tests are run: with the runtime itself, which is left as it is.
import { join } from "node:path";
import { runtimeFolder } from "./setup/builds.mjs";
import { openblas } from "./setup/machine.mjs";
import { findPython } from "./setup/python.mjs";
import { devFolder } from "./setup/tools.mjs";

/** The command of a run; the test tools are appended to the runtime's search path, behind its own packages. */
export function pytest(...args) {
  const library = join(devFolder(), `lib/python3.${findPython().minor}/site-packages`);
  const main = `import sys; sys.path.append(${JSON.stringify(library)}); import pytest; sys.exit(pytest.main(sys.argv[1:]))`;
  return [`${runtimeFolder()}/bin/python`, "-B", "-c", main, "-p", "no:cacheprovider", "-q", ...args];
}

/** The environment of a run, on top of the tests' own. */
export function pytestEnvironment() {
  const blas = openblas();
  return blas === null ? {} : { LD_PRELOAD: blas };
}
