"""Starting and ending: with and without display and bus, signals, a killed app."""

import signal
import time
from collections.abc import Callable

import ask
import pytest
from desk import DRAIN_LIMIT_S, Desk, Display, wait_for
from endless import TOKENS, serve_endless


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"DISPLAY": None}, "there is no display"),
        ({"DISPLAY": ":77"}, "display :77 cannot be used"),
        ({"WAYLAND_DISPLAY": "wayland-77", "DISPLAY": None}, "display wayland-77 cannot be used"),
        ({"HANGAR_HEADLESS": "1"}, "HANGAR_HEADLESS"),
    ],
)
def test_where_no_window_can_be_shown_the_server_runs_alone(
    desk: Desk, changes: dict[str, str | None], why: str
) -> None:
    app = desk.start(**changes)
    url = app.url()
    assert why in app.text()
    assert ask.get(f"{url}/health")[1]["ok"] is True
    app.signal()
    assert app.ended() == 0
    assert "panicked" not in app.text()


def test_without_a_bus_there_is_still_a_panel(make_desk: Callable[..., Desk], display: Display) -> None:
    desk = make_desk(display.name, bus=False)
    app = desk.start(DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    app.url()
    wait_for("the panel", display.windows)
    app.signal()
    assert app.ended() == 0
    assert "panicked" not in app.text()


def test_an_unknown_argument_is_named(desk: Desk) -> None:
    app = desk.start("serve")
    assert app.ended() == 1
    assert "unknown argument serve" in app.text()


def test_headless_start_says_who_has_the_folder(desk: Desk) -> None:
    first = desk.start(HANGAR_HEADLESS="1")
    first.url()
    second = desk.start(HANGAR_HEADLESS="1")
    assert second.ended() == 1
    assert str(first.process.pid) in second.text()
    first.signal()
    assert first.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_app_in_order(desk: Desk, number: int) -> None:
    app = desk.start()
    app.url()
    app.signal(number)
    assert app.ended() == 0
    wait_for("nothing left", lambda: not desk.left_over())


def test_a_signal_lets_a_running_answer_end(desk: Desk) -> None:
    desk.home.mkdir()
    serve_endless(desk.home)
    app = desk.start()
    answer = ask.Answer(app.url(), "hello.", max_tokens=500)
    wait_for("a running answer", lambda: answer.events)
    app.signal()
    assert app.ended() == 0
    assert answer.ended(10)[-1] == "[DONE]"
    wait_for("nothing left", lambda: not desk.left_over())


def test_a_second_signal_ends_a_running_answer(desk: Desk) -> None:
    desk.home.mkdir()
    serve_endless(desk.home)
    app = desk.start()
    answer = ask.Answer(app.url(), "hello.", max_tokens=TOKENS)
    wait_for("a running answer", lambda: answer.events)
    began = time.monotonic()
    app.signal()
    time.sleep(1)
    assert app.process.poll() is None, "it waits for the answer"
    app.signal()
    assert app.ended() == 0
    assert time.monotonic() - began < DRAIN_LIMIT_S, "it did not wait for the limit"
    assert "[DONE]" not in answer.ended(10)
    wait_for("nothing left", lambda: not desk.left_over())


def test_a_killed_app_leaves_no_worker(desk: Desk) -> None:
    app = desk.start()
    url = app.url()
    assert ask.chat(url, "hello", max_tokens=1)[0] == 200
    assert desk.workers()
    app.signal(signal.SIGKILL)
    app.ended()
    wait_for("nothing left", lambda: not desk.left_over())
    again = desk.start(HANGAR_HEADLESS="1")
    again.url()
    again.signal()
    assert again.ended() == 0
