"""The panel as a person uses it: read, click, type; pictures are kept to be looked at."""

import os
import signal
import struct
import time
from collections.abc import Callable
from pathlib import Path

from desk import Desk, wait_for
from endless import serve_endless
from tray import Tray
from webdriver import ENTER, Window


def test_panel_shows_the_servers_page_at_its_size(desk: Desk, pictures: Path) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        assert window.address().startswith("http://127.0.0.1:")
        size = _size(window.picture(pictures / "app-idle.png"))
        assert size[0] == 400, size
        assert 600 <= size[1] <= 640, size
        assert window.run("return document.documentElement.scrollWidth <= window.innerWidth") is True
    finally:
        window.close()


def test_panel_shows_a_conversation_with_the_model(desk: Desk, pictures: Path) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        window.click("#tab-test")
        for said in ["remember this code: amber lantern seven.", "what is the code?"]:
            window.type("#message", said + ENTER)
            window.waits_for_text(said, "article:last-of-type .question")
            window.waits_for_text("to first word", "article:last-of-type")
        assert "amber lantern seven" in window.text("article:last-of-type .answer")
        window.picture(pictures / "app-chat.png")
        window.click("#tab-overview")
        window.waits_for_text("App and server")
        window.waits_for_text("Worker: the rest")
        window.picture(pictures / "app-panel.png")
    finally:
        window.close()


def test_quit_ends_an_answer_in_the_panel_within_ten_seconds_and_leaves_nothing(desk: Desk, tray: Tray) -> None:
    desk.home.mkdir()
    serve_endless(desk.home)
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        window.click("#tab-test")
        window.type("#message", "hello." + ENTER)
        window.waits_for_text("how can i help", "article .answer")
        tray.find("Busy: gemma-4-pocket")
        assert desk.workers()
        (app,) = desk.apps()
        tray.choose("Quit Hangar")
        began = time.monotonic()
        wait_for("the app has ended", lambda: app not in desk.left_over())
        print(f"\nfigures: quit with a running answer: ended after {time.monotonic() - began:.1f} s")  # noqa: T201
        wait_for("no worker", lambda: not desk.workers())
    finally:
        window.close()
    wait_for("nothing left", lambda: not desk.left_over())


def test_a_page_whose_process_was_killed_is_there_again(desk: Desk) -> None:
    window = Window(desk)
    try:
        window.waits_for_text("gemma-4-pocket")
        (page,) = desk.pages()
        os.kill(page, signal.SIGKILL)
        wait_for("another process for the page", lambda: desk.pages() - {page})
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
        opened = "https://host.example/by-script"
        window.run(_OPENS, opened)
        window.click("#opens")
        _eventually(lambda: len(desk.links()) > len(links), desk.links)
        assert desk.links() == [*links, opened], "and no program, and no file"
        assert len(window.windows()) == 1
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
            wait_for(command, lambda: window.run("return window.refused !== undefined"))
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
_OPENS = """
const button = document.body.appendChild(document.createElement("button"));
button.id = "opens";
button.textContent = "opens";
button.style.cssText = "position:fixed;top:40px;left:0;z-index:9;background:white";
button.onclick = () => window.open(arguments[0]);
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
        wait_for("what was expected", look)
    except AssertionError as late:
        raise AssertionError(f"{late}: {tell()}") from None
