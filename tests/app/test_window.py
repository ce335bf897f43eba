"""The panel as a person uses it: read, click, type; pictures are kept to be looked at."""

import signal
import struct
from collections.abc import Callable
from pathlib import Path

from desk import Desk, wait_for
from webdriver import Window


def test_panel_shows_the_servers_page_at_its_size(desk: Desk, pictures: Path) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        assert window.address().startswith("http://127.0.0.1:")
        size = _size(window.picture(pictures / "app-panel.png"))
        assert size[0] == 400, size
        assert 600 <= size[1] <= 640, size
        assert window.run("return document.documentElement.scrollWidth <= window.innerWidth") is True
    finally:
        window.close()


def test_a_link_to_elsewhere_opens_outside_and_the_panel_stays(desk: Desk) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        address = window.address()
        links = ["https://host.example/page?x=1", "https://host.example/own-window", "http://localhost:65000/"]
        for link in [*links, "vscode://host.example/", "file:///etc/hostname"]:
            window.run(_LINK, link, "_blank" if "own-window" in link else "")
            window.click("#out")
        _eventually(lambda: len(desk.links()) >= len(links), desk.links)
        assert desk.links() == links, "and no program, and no file"
        assert window.address() == address
        window.waits_for_text("gemma-4-pocket")
    finally:
        window.close()


def test_page_cannot_reach_the_apps_own_commands(desk: Desk) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        for command in ["plugin:shell|open", "plugin:clipboard-manager|write_text", "plugin:autostart|enable"]:
            window.run(_INVOKE, command)
            wait_for(command, lambda: window.run("return window.refused !== undefined"), 10)
            refused = window.run("return window.refused")
            assert "not allowed" in refused or "not found" in refused, refused
        assert desk.links() == []
    finally:
        window.close()


def test_without_a_server_the_panel_says_who_has_the_folder_and_retry_helps(
    desk: Desk, make_desk: Callable[..., Desk], pictures: Path
) -> None:
    other = make_desk(None, bus=False)
    holder = other.start(HANGAR_HEADLESS="1", HANGAR_HOME=str(desk.home))
    url = holder.url()
    window = Window(desk)
    try:
        window.waits_for_text("Hangar cannot start")
        said = window.text("#what")
        assert str(desk.home) in said
        assert str(holder.process.pid) in said
        assert "hangar stop" in window.text("#cure")
        window.picture(pictures / "app-trouble.png")
        window.click("#holder")
        _eventually(lambda: desk.links() == [f"{url}/"], desk.links)
        window.click("#retry")
        window.waits_for_text("Tried 2 times.")
        holder.signal(signal.SIGTERM)
        assert holder.ended() == 0
        window.click("#retry")
        window.waits_for_text("gemma-4-pocket")
        assert window.address().startswith("http://127.0.0.1:")
    finally:
        window.close()


def test_a_wrong_setting_is_named_and_retry_reads_it_again(desk: Desk) -> None:
    desk.home.mkdir()
    settings = desk.home / "local.json"
    settings.write_text('{"server": {"port": "<b>many</b>"}}')
    window = Window(desk)
    try:
        window.waits_for_text("Hangar cannot start")
        said = window.text("#what")
        assert "server.port" in said
        assert str(settings) in said
        assert window.run("return document.querySelector('main b')") is None
        settings.write_text("{}")
        window.click("#retry")
        window.waits_for_text("gemma-4-pocket")
    finally:
        window.close()


_LINK = """
let link = document.getElementById("out");
if (link === null) {
  link = document.body.appendChild(document.createElement("a"));
  link.id = "out";
  link.textContent = "out";
  link.style.cssText = "position:fixed;top:0;left:0;z-index:9;background:white";
}
link.href = arguments[0];
link.target = arguments[1];
"""
_INVOKE = """
window.refused = undefined;
window.__TAURI_INTERNALS__.invoke(arguments[0], { path: "https://host.example/", text: "x", label: "x" }).then(
  (answer) => (window.refused = "allowed: " + JSON.stringify(answer)),
  (why) => (window.refused = String(why)),
);
"""


def _size(picture: bytes) -> tuple[int, int]:
    return struct.unpack(">II", picture[16:24])


def _eventually(look: Callable[[], bool], tell: Callable[[], object]) -> None:
    try:
        wait_for("what was expected", look, 10)
    except AssertionError as late:
        raise AssertionError(f"{late}: {tell()}") from None
