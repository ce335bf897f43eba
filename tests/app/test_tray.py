"""The icon in the tray and its menu, over the bus as a desktop sees them."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import ask
from desk import DRAIN_LIMIT_S, PAGE_ASKS, Desk, Display, Running, wait_for
from endless import TOKENS, serve_endless
from tray import Tray

AT_LOGIN = {
    "HOME",
    "LANG",
    "DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "HANGAR_TEST_MARK",
    "NO_AT_BRIDGE",
}


def test_menu_offers_what_the_app_can_do(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    app.url()
    tray.find("Idle: gemma-4-pocket")
    assert tray.labels() == [
        "Idle: gemma-4-pocket",
        "Stop Service",
        "Open Panel",
        "Copy URL",
        "Open Log Folder",
        "Launch at Login",
        "Quit Hangar",
    ]
    wait_for("everything to choose", lambda: all(line.enabled for line in tray.menu()[1:] if not line.rule))
    assert not tray.menu()[0].enabled, "the state is no choice"
    _quit(app, tray)


def test_stop_and_start_close_and_open_the_service_and_the_page_stays(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    url = app.url()
    tray.choose("Stop Service")
    tray.find("Start Service")
    assert tray.state() == "Stopped"
    assert ask.get(f"{url}/health")[1]["accepting"] is False
    assert ask.chat(url, "hello")[0] == 503
    tray.choose("Start Service")
    tray.find("Stop Service")
    assert ask.get(f"{url}/health")[1]["accepting"] is True
    _quit(app, tray)


def test_stop_unloads_the_worker(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    url = app.url()
    assert ask.chat(url, "what is the code?", max_tokens=2)[0] == 200
    tray.find("Ready: gemma-4-pocket")
    ready_icon = tray.icon()["IconName"]
    (worker,) = desk.workers()
    tray.choose("Stop Service")
    wait_for("“Stopped”", lambda: tray.state() == "Stopped")
    assert tray.icon()["IconName"] != ready_icon, "the icon shows the state"
    wait_for("the worker gone", lambda: worker not in desk.left_over())
    _quit(app, tray)


def test_icon_and_state_follow_a_request(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    url = app.url()
    tray.find("Idle: gemma-4-pocket")
    seen = {tray.icon()["IconName"]}
    assert ask.chat(url, "what is the code?", max_tokens=2)[0] == 200
    tray.find("Ready: gemma-4-pocket")
    seen.add(tray.icon()["IconName"])
    assert len(seen) == 2
    _quit(app, tray)


def test_copy_url_puts_the_address_for_clients_on_the_clipboard(desk: Desk, tray: Tray, display: Display) -> None:
    app = desk.start()
    url = app.url()
    tray.find("Idle: gemma-4-pocket")
    tray.choose("Copy URL")
    wait_for("the address on the clipboard", lambda: _clipboard(display) == f"{url}/v1")
    _quit(app, tray)


def test_panel_opens_again_after_it_was_closed(desk: Desk, tray: Tray, display: Display) -> None:
    app = desk.start()
    app.url()
    app.line(PAGE_ASKS)
    (window,) = wait_for("the panel", display.windows)
    display.press_close(window)
    wait_for("the panel gone", lambda: not display.windows())
    assert app.process.poll() is None, "the app goes on in the tray"
    tray.choose("Open Panel")
    wait_for("the panel again", display.windows)
    _quit(app, tray)


def test_a_second_start_shows_the_panel_of_the_first_and_ends(desk: Desk, tray: Tray, display: Display) -> None:
    app = desk.start("--at-login")
    app.process.poll()
    tray.find("Idle: gemma-4-pocket")
    assert display.windows() == [], "at login no panel comes up"
    assert desk.start().ended() == 0
    wait_for("the panel of the first", display.windows)
    _quit(app, tray)


def test_launch_at_login_starts_an_app_that_answers_from_the_same_folder(desk: Desk, tray: Tray) -> None:
    home = desk.folder / "a state folder, 50 % $full"
    app = desk.start(HANGAR_HOME=str(home))
    app.url()
    folder = desk.folder / ".config" / "autostart"
    assert tray.find("Launch at Login").ticked is False
    tray.choose("Launch at Login")
    (entry,) = wait_for("a file for the login", lambda: list(folder.glob("*.desktop")))
    wait_for("the tick", lambda: tray.find("Launch at Login").ticked)
    _quit(app, tray)
    # A login knows the person and the desktop, and nothing of ours.
    known = {name: value for name, value in desk.environment.items() if name in AT_LOGIN}
    subprocess.run(
        [shutil.which("gio"), "launch", str(entry)], env={**known, "PATH": "/usr/bin:/bin"}, check=True, timeout=60
    )
    hint = wait_for("a server", lambda: _hint(home))
    assert ask.chat(hint["url"], "what is the code?", max_tokens=2)[0] == 200
    tray.find("Ready: gemma-4-pocket")
    assert tray.find("Launch at Login").ticked
    assert list((home / "logs").glob("hangar.*.jsonl")), "nobody reads its terminal"
    tray.choose("Launch at Login")
    wait_for("the file gone", lambda: not entry.exists())
    wait_for("no tick", lambda: tray.find("Launch at Login").ticked is False)
    tray.choose("Quit Hangar")
    wait_for("nothing left", lambda: not desk.left_over())


def test_the_entry_for_the_login_is_brought_up_to_date_at_a_start(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    app.url()
    tray.choose("Launch at Login")
    (entry,) = wait_for("a file", lambda: list((desk.folder / ".config" / "autostart").glob("*.desktop")))
    _quit(app, tray)
    fresh = entry.read_text()
    entry.write_text(fresh.replace("hangar-app", "hangar-app-of-yesterday"))
    app = desk.start()
    app.url()
    wait_for("today's entry", lambda: entry.read_text() == fresh)
    _quit(app, tray)


def test_a_start_that_was_mended_is_still_the_one_app_of_its_folder(desk: Desk, tray: Tray, display: Display) -> None:
    desk.home.mkdir()
    (desk.home / "local.json").write_text("{")
    broken = desk.start("--at-login")
    wait_for("the trouble", lambda: tray.state().startswith("Cannot start"))
    (desk.home / "local.json").write_text("{}")
    assert desk.start().ended() == 0, "the second shows the panel of the first"
    wait_for("the panel of the first", display.windows)
    _quit(broken, tray)


def test_log_folder_opens_with_the_systems_own_program(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    app.url()
    tray.choose("Open Log Folder")
    wait_for("the folder", lambda: desk.links() == [str(desk.home / "logs")])
    _quit(app, tray)


def test_quit_lets_a_running_answer_end_and_leaves_nothing(desk: Desk, tray: Tray) -> None:
    desk.home.mkdir()
    serve_endless(desk.home)
    app = desk.start()
    url = app.url()
    answer = ask.Answer(url, "hello.", max_tokens=500)
    tray.find("Busy: gemma-4-pocket")
    assert desk.workers()
    tray.choose("Quit Hangar")
    assert app.ended() == 0
    assert answer.ended(10)[-1] == "[DONE]"
    wait_for("nothing left", lambda: not desk.left_over())
    again = desk.start(HANGAR_HEADLESS="1")
    assert again.url() == url, "folder and port are free again"
    again.signal(signal.SIGTERM)
    assert again.ended() == 0


def test_a_second_quit_ends_a_running_answer(desk: Desk, tray: Tray) -> None:
    desk.home.mkdir()
    serve_endless(desk.home)
    app = desk.start()
    answer = ask.Answer(app.url(), "hello.", max_tokens=TOKENS)
    wait_for("a running answer", lambda: answer.events)
    began = time.monotonic()
    tray.choose("Quit Hangar")
    tray.find("Quit Now")
    assert app.process.poll() is None, "it waits for the answer"
    tray.choose("Quit Now")
    assert app.ended() == 0
    assert time.monotonic() - began < DRAIN_LIMIT_S, "it did not wait for the limit"
    assert "[DONE]" not in answer.ended(10)
    wait_for("nothing left", lambda: not desk.left_over())


def _quit(app: Running, tray: Tray) -> None:
    tray.choose("Quit Hangar")
    assert app.ended() == 0, app.text()


def _clipboard(display: Display) -> str:
    # Nobody may have anything on it yet.
    with contextlib.suppress(subprocess.SubprocessError):
        return display.do("xclip", "-selection", "clipboard", "-out")
    return ""


def _hint(home: Path) -> Any:
    with contextlib.suppress(OSError, ValueError):
        return json.loads((home / "instance.json").read_text())
    return None
