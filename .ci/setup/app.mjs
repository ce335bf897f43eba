// The desktop app: whether there is a display to show it on, the libraries it needs, its build, its tests' tools.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { COMPILE_CURE, SERVER_INPUTS, putIntoBin, stamped } from "./builds.mjs";
import { aptInstall, machineFolders } from "./machine.mjs";
import { BUILD, CACHE, IS_MACOS, TARGET, onPath } from "./places.mjs";
import { Problem } from "./problem.mjs";
import { ask, mustRun } from "./program.mjs";
import { findPython } from "./python.mjs";
import { fingerprint } from "./stamp.mjs";
import { lockedVenvStep } from "./tools.mjs";

/** The app of this clone. */
export const APP = join(BUILD, "bin/hangar-app");

const INPUTS = [...SERVER_INPUTS, "src-tauri", "icons/app", "icons/tray", "icons/icon.icns"];
const TESTS_LOCK = "tests/app/requirements.txt";
const WITHOUT = "or HANGAR_HEADLESS=1 npm start, which needs no window";
const LIBRARIES = [
  {
    debian: "libwebkit2gtk-4.1-dev",
    there: () => ask("pkg-config", ["--exists", "webkit2gtk-4.1"]) !== null,
  },
  // Opened while the app runs, so only the library itself is needed.
  {
    debian: "libayatana-appindicator3-1",
    there: () => machineFolders().some((folder) => existsSync(`${folder}/libayatana-appindicator3.so.1`)),
  },
];
const TEST_TOOLS = [
  ["WebKitWebDriver", "webkit2gtk-driver"],
  ["Xvfb", "xvfb"],
  ["xauth", "xauth"],
  ["xdotool", "xdotool"],
  ["xclip", "xclip"],
  ["dbus-daemon", "dbus-daemon"],
  // Reads a desktop entry as a desktop does.
  ["gio", "libglib2.0-bin"],
].map(([program, debian]) => ({ debian, there: () => onPath(program) !== null }));

/** Whether a window would be seen: then the app is built, else the server alone serves. */
export function displayShowsWindows(environment = process.env) {
  if (environment.HANGAR_HEADLESS && environment.HANGAR_HEADLESS !== "0") return false;
  if (IS_MACOS) return true;
  const { WAYLAND_DISPLAY: wayland, DISPLAY: display, XDG_RUNTIME_DIR: folder = "" } = environment;
  if (wayland && existsSync(wayland.startsWith("/") ? wayland : join(folder, wayland))) return true;
  if (!display) return false;
  const local = display.match(/^(?:unix)?:(\d+)/)?.[1];
  // A display on another machine is asked by the app itself, which serves without a window where it must.
  return local === undefined || existsSync(`/tmp/.X11-unix/X${local}`);
}

/** What the app is made from and with. */
export const appSteps = [systemPackages("window", LIBRARIES), appStep()];

/** What its tests need beside it. */
export const appTestSteps = [
  systemPackages("app tools", TEST_TOOLS),
  lockedVenvStep("app tests", appTestsFolder, TESTS_LOCK, "pytest, dbus-fast"),
];

/** The folder of the Python packages that its tests need. */
export function appTestsFolder() {
  const version = findPython()?.version ?? "none";
  return join(CACHE, "app-tests", fingerprint([TESTS_LOCK], [version, process.arch]).slice(0, 16));
}

function systemPackages(name, packages) {
  const missing = () =>
    IS_MACOS ? [] : packages.filter(({ there }) => !there()).map(({ debian }) => debian);
  return {
    name,
    done: () => (missing().length === 0 ? "nothing missing" : null),
    async run() {
      const line = `apt-get install --no-install-recommends ${missing().join(" ")}`;
      if (onPath("apt-get") === null)
        throw new Problem(
          `missing: ${missing().join(", ")} (Debian's names)`,
          `install them with your distribution's tool, ${WITHOUT}`,
        );
      if (process.getuid() !== 0)
        throw new Problem("some system packages for the window are missing", `sudo ${line}, ${WITHOUT}`);
      await aptInstall(missing());
      if (missing().length > 0) throw new Problem(`still missing: ${missing().join(", ")}`, line);
      return "installed";
    },
  };
}

function appStep() {
  return stamped("app", {
    inputs: INPUTS,
    facts: () => [ask("rustc", ["--version"]), TARGET],
    outputs: [APP],
    async run() {
      await mustRun("app", "cargo", ["build", "--locked", "-p", "hangar-app"], {
        cure: COMPILE_CURE,
        timeoutS: 3600,
      });
      putIntoBin("hangar-app");
    },
  });
}
