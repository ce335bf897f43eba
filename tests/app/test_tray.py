"""The icon in the tray and its menu, over the bus as a desktop sees them."""

import signal

import ask
from desk import PAGE_ASKS, Desk, Display, Running, wait_for
from tray import Tray


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
    wait_for("everything to choose", lambda: all(line.enabled for line in tray.menu()[1:] if not line.rule), 5)
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
    wait_for("“Stopped”", lambda: tray.state() == "Stopped", 20)
    assert tray.icon()["IconName"] != ready_icon, "the icon shows the state"
    wait_for("the worker gone", lambda: worker not in desk.left_over(), 5)
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
    wait_for("the address on the clipboard", lambda: _clipboard(display) == f"{url}/v1", 10)
    _quit(app, tray)


def test_panel_opens_again_after_it_was_closed(desk: Desk, tray: Tray, display: Display) -> None:
    app = desk.start()
    app.url()
    app.line(PAGE_ASKS)
    (window,) = wait_for("the panel", display.windows, 20)
    display.press_close(window)
    wait_for("the panel gone", lambda: not display.windows(), 10)
    assert app.process.poll() is None, "the app goes on in the tray"
    tray.choose("Open Panel")
    wait_for("the panel again", display.windows, 10)
    _quit(app, tray)


def test_a_second_start_shows_the_panel_of_the_first_and_ends(desk: Desk, tray: Tray, display: Display) -> None:
    app = desk.start("--at-login")
    app.process.poll()
    tray.find("Idle: gemma-4-pocket")
    assert display.windows() == [], "at login no panel comes up"
    assert desk.start().ended(10) == 0
    wait_for("the panel of the first", display.windows, 10)
    _quit(app, tray)


def test_launch_at_login_is_what_the_desktop_has_on_file(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    app.url()
    folder = desk.folder / ".config" / "autostart"
    assert tray.find("Launch at Login").ticked is False
    tray.choose("Launch at Login")
    (entry,) = wait_for("a file for the login", lambda: list(folder.glob("*.desktop")), 10)
    assert "hangar-app" in entry.read_text()
    assert "--at-login" in entry.read_text()
    wait_for("the tick", lambda: tray.find("Launch at Login").ticked, 10)
    tray.choose("Launch at Login")
    wait_for("the file gone", lambda: not entry.exists(), 10)
    wait_for("no tick", lambda: tray.find("Launch at Login").ticked is False, 10)
    _quit(app, tray)


def test_log_folder_opens_with_the_systems_own_program(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    app.url()
    tray.choose("Open Log Folder")
    wait_for("the folder", lambda: desk.links() == [str(desk.home / "logs")], 10)
    _quit(app, tray)


def test_quit_lets_a_running_answer_end_and_leaves_nothing(desk: Desk, tray: Tray) -> None:
    app = desk.start()
    url = app.url()
    assert ask.chat(url, "hello", max_tokens=1)[0] == 200
    assert desk.workers()
    tray.choose("Quit Hangar")
    assert app.ended(15) == 0
    wait_for("nothing left", lambda: not desk.left_over(), 5)
    again = desk.start(HANGAR_HEADLESS="1")
    assert again.url() == url, "folder and port are free again"
    again.signal(signal.SIGTERM)
    assert again.ended() == 0


def _quit(app: Running, tray: Tray) -> None:
    tray.choose("Quit Hangar")
    assert app.ended() == 0, app.text()


def _clipboard(display: Display) -> str:
    return display.do("xclip", "-selection", "clipboard", "-out")
