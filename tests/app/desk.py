"""A desktop of our own: a display, a session bus and a home folder, and the app on it."""

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

from Xlib import display as xlib
from Xlib.protocol.event import ClientMessage
from Xlib.X import CurrentTime

REPOSITORY = Path(__file__).resolve().parents[2]
APP = Path(os.environ.get("HANGAR_APP", REPOSITORY / ".build/bin/hangar-app"))
LISTENING = re.compile(r"^Hangar is listening on (http\S+)$")
# The page has drawn itself and asks for the service's state.
PAGE_ASKS = re.compile(r'path="/admin/events"')
WITHIN_S = 60.0
# How long an app that is quit waits for running answers.
DRAIN_LIMIT_S = 9.0
# Written where the system's own programs for links, folders and files are looked for first.
OPENER = '#!/bin/sh\nprintf \'%s\\n\' "$1" >>"$OPENED_LINKS"\n'
SCREEN = "1280x900x24"


def wait_for(what: str, look, within_s: float = WITHIN_S, every_s: float = 0.05):
    """The first answer of `look` that says anything."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {within_s} s")
        time.sleep(every_s)


class Desk:
    """Display, bus and folders of one test; everything that is started on it carries its mark."""

    def __init__(self, folder: Path, display: str | None, *, bus: bool = True) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.mark = uuid.uuid4().hex
        self.opened = folder / "opened"
        self._seen: dict[int, str] = {}
        self._bus = self._start_bus() if bus else None
        programs = folder / "programs"
        programs.mkdir()
        opener = programs / "xdg-open"
        opener.write_text(OPENER)
        opener.chmod(0o755)
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in {"LANG", "HANGAR_RESOURCES", "HANGAR_RUNTIME", "HANGAR_WORKER_WHEEL", "LD_LIBRARY_PATH"}
        }
        self.environment = {
            **inherited,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / ".config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_RUNTIME_DIR": str(self._made(folder / "run")),
            "HANGAR_HOME": str(self.home),
            "HANGAR_TEST_MARK": self.mark,
            "OPENED_LINKS": str(self.opened),
            "NO_AT_BRIDGE": "1",
        }
        if display is not None:
            self.environment["DISPLAY"] = display
        if self._bus is not None:
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = self.bus_address

    def start(self, *arguments: str, program: Path = APP, **changes: str | None) -> "Running":
        """Starts the app; a variable that is None is left out."""
        environment = {**self.environment, **changes}
        return Running(
            [str(program), *arguments], {name: value for name, value in environment.items() if value is not None}
        )

    def links(self) -> list[str]:
        """What the system's own program was asked to open."""
        return self.opened.read_text().splitlines() if self.opened.exists() else []

    def left_over(self) -> dict[int, str]:
        """What lives of the processes with this desk's mark, of their children, and of those seen before."""
        living = {int(entry.name): entry for entry in Path("/proc").iterdir() if entry.name.isdigit()}
        mark = f"HANGAR_TEST_MARK={self.mark}".encode()
        parents, ours = {}, {}
        for pid, entry in living.items():
            try:
                state, parent, *more = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                began = more[17]
                if state == "Z":
                    continue
                parents[pid] = (int(parent), began)
                if mark in (entry / "environ").read_bytes():
                    ours[pid] = began
            except OSError:
                continue
        # A worker's environment is cleared, so it is known by its parent, or by having been seen while that lived.
        while more := {pid: began for pid, (parent, began) in parents.items() if parent in ours and pid not in ours}:
            ours.update(more)
        ours.update({pid: began for pid, began in self._seen.items() if parents.get(pid, (0, ""))[1] == began})
        self._seen.update(ours)
        return {pid: self._command(living[pid]) for pid in ours}

    def workers(self) -> set[int]:
        """Processes of workers."""
        return {pid for pid, command in self.left_over().items() if "hangar_worker" in command}

    def apps(self) -> set[int]:
        """Processes of apps."""
        return {pid for pid, command in self.left_over().items() if command.startswith(str(APP))}

    def pages(self) -> set[int]:
        """Processes that draw a window's page."""
        return {pid for pid, command in self.left_over().items() if "WebKitWebProcess" in command}

    def end_apps(self) -> None:
        """Asks apps that somebody else has started to end."""
        for pid in self.apps():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def clear(self, within_s: float = 30) -> dict[int, str]:
        """Ends what is left after a while; says what that was."""
        until = time.monotonic() + within_s
        while (left := self.left_over()) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self._bus is not None:
            self._bus.kill()
            self._bus.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        return left

    def _start_bus(self) -> subprocess.Popen:
        bus = subprocess.Popen(
            [shutil.which("dbus-daemon"), "--session", "--nofork", "--print-address=1"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.bus_address = bus.stdout.readline().strip()
        return bus

    @staticmethod
    def _command(entry: Path) -> str:
        try:
            return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
        except OSError:
            return "ended"

    @staticmethod
    def _made(folder: Path) -> Path:
        folder.mkdir(mode=0o700)
        return folder


class Running:
    """A started app, and what it says."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[tuple[float, str]] = []
        self._lines: queue.Queue[str | None] = queue.Queue()
        for stream in (self.process.stdout, self.process.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def url(self) -> str:
        """The address it listens on."""
        return self.line(LISTENING).group(1)

    def line(self, pattern: re.Pattern, within_s: float = WITHIN_S) -> re.Match:
        """The first line it has said, or will say, that matches."""

        def look():
            found = next((pattern.search(text) for _, text in self.said if pattern.search(text)), None)
            if found is None and self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode}; it said:\n{self.text()}")
            return found

        try:
            return wait_for(f"a line like {pattern.pattern}", look, within_s, 0.01)
        except AssertionError as late:
            raise AssertionError(f"{late}; it said:\n{self.text()}") from None

    def seconds_to(self, pattern: re.Pattern) -> float:
        """Time from its start to that line."""
        self.line(pattern)
        return next(at for at, text in self.said if pattern.search(text)) - self.began

    def text(self) -> str:
        """Everything it has said."""
        return "\n".join(text for _, text in self.said)

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Sends it a signal."""
        self.process.send_signal(number)

    def ended(self, within_s: float = WITHIN_S) -> int:
        """Its exit status."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {within_s} s; it said:\n{self.text()}") from None

    def _read(self, stream) -> None:
        for line in stream:
            self.said.append((time.monotonic(), line.rstrip("\n")))
            if os.environ.get("HANGAR_TEST_LOUD"):
                sys.stderr.write(line)


class Display:
    """An X server without a screen."""

    def __init__(self) -> None:
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [shutil.which("Xvfb"), "-displayfd", str(writer), "-screen", "0", SCREEN, "-nolisten", "tcp"],
            pass_fds=[writer],
            stderr=subprocess.DEVNULL,
        )
        os.close(writer)
        with os.fdopen(reader) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise AssertionError("Xvfb did not start")
        self.name = f":{number}"

    def windows(self) -> list[str]:
        """Ids of our visible windows."""
        command = ["xdotool", "search", "--onlyvisible", "--name", "^Hangar$"]
        answer = subprocess.run(
            command, env={**os.environ, "DISPLAY": self.name}, capture_output=True, text=True, check=False
        )
        return answer.stdout.split()

    def press_close(self, window: str) -> None:
        """Says to a window what its close button says."""
        connection = xlib.Display(self.name)
        target = connection.create_resource_object("window", int(window))
        protocols, delete = (connection.get_atom(name) for name in ("WM_PROTOCOLS", "WM_DELETE_WINDOW"))
        message = ClientMessage(window=target, client_type=protocols, data=(32, [delete, CurrentTime, 0, 0, 0]))
        target.send_event(message)
        connection.sync()
        connection.close()

    def do(self, *arguments: str) -> str:
        """Runs a program on this display."""
        command = subprocess.run(
            arguments, env={**os.environ, "DISPLAY": self.name}, capture_output=True, text=True, check=True, timeout=20
        )
        return command.stdout

    def close(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait()
