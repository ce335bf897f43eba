"""A window driven by WebKit's own driver, over plain HTTP."""

import base64
import contextlib
import json
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from desk import APP, WITHIN_S, Desk, wait_for

DRIVER = "WebKitWebDriver"
# How a driver spells the key.
ENTER = "\ue007"


class Window:
    """The app's window; the driver starts the app."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {**desk.environment, "TAURI_WEBVIEW_AUTOMATION": "true"}
        self._base = f"http://127.0.0.1:{port}"
        self._driver = subprocess.Popen([DRIVER, f"--port={port}"], env=environment, stdin=subprocess.DEVNULL)
        wait_for("the driver", self._ready)
        options = {"webkitgtk:browserOptions": {"binary": str(APP), "args": []}}
        session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": options}})
        self._session = f"/session/{session['sessionId']}"

    def address(self) -> str:
        """The page it shows."""
        return self._do("GET", "/url")

    def text(self, selector: str = "body") -> str:
        """The text that a person reads there."""
        return self._do("GET", f"/element/{self.find(selector)}/text")

    def waits_for_text(self, text: str, selector: str = "body", within_s: float = WITHIN_S) -> None:
        """Waits until that text is there."""

        def look() -> bool:
            try:
                return text in self.text(selector)
            except WebDriverError:
                # A page that is being changed has no elements.
                return False

        try:
            wait_for(f"“{text}”", look, within_s, 0.1)
        except AssertionError as late:
            raise AssertionError(f"{late}; the page says:\n{self.text()}") from None

    def find(self, selector: str) -> str:
        """The element with this CSS selector."""
        return next(iter(self._do("POST", "/element", {"using": "css selector", "value": selector}).values()))

    def click(self, selector: str) -> None:
        """Clicks into the middle of an element."""
        self._do("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Types into an element."""
        self._do("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def run(self, script: str, *arguments: Any) -> Any:
        """Runs a script in the page."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def windows(self) -> list[str]:
        """Names of all windows and tabs."""
        return self._do("GET", "/window/handles")

    def picture(self, file: Path) -> bytes:
        """A picture of the page, as a file too."""
        picture = base64.b64decode(self._do("GET", "/screenshot"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture)
        return picture

    def close(self) -> None:
        """Ends app and driver. The driver only closes the page, and the app goes on without it."""
        try:
            # An app that has ended has taken its session along.
            with contextlib.suppress(OSError, WebDriverError):
                self._do("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait()
            self._desk.end_apps()

    def _ready(self) -> bool:
        try:
            return bool(self._ask("GET", "/status")["ready"])
        except OSError:
            return False

    def _do(self, method: str, path: str, body: Any = None) -> Any:
        return self._ask(method, self._session + path, body)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310
            self._base + path, content, {"content-type": "application/json"}, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
                return json.load(answer)["value"]
        except urllib.error.HTTPError as refused:
            raise WebDriverError(refused.read().decode()[:600]) from None


class WebDriverError(Exception):
    """What the driver says is wrong."""
