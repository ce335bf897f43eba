"""How fast the panel is there, and what app and page cost while nothing happens."""

import os
import re
import time
from pathlib import Path
from statistics import median

import pytest
from desk import PAGE_ASKS, REPOSITORY, Desk, Running

HANGAR = Path(os.environ.get("HANGAR_BINARY", REPOSITORY / ".build/bin/hangar"))
pytestmark = pytest.mark.usefixtures("tray")
LISTENS = re.compile(r"^Hangar is listening on ")
ROUNDS = 3
USABLE_WITHIN_S = 1.5
IDLE_FOR_S = 30
MOST_OF_A_CORE = 0.01


def test_panel_is_usable_soon_after_the_start(desk: Desk) -> None:
    app_s, server_s = [], []
    for _ in range(ROUNDS):
        server = desk.start("serve", program=HANGAR)
        server_s.append(server.seconds_to(LISTENS))
        _end(server)
        app = desk.start(HANGAR_LOG="debug")
        app_s.append(app.seconds_to(PAGE_ASKS))
        _end(app)
    usable, listens = median(app_s), median(server_s)
    print(f"\npanel usable after {usable:.2f} s, server listens after {listens:.2f} s: {usable / listens:.1f} times")  # noqa: T201
    assert usable <= USABLE_WITHIN_S, app_s


def test_app_and_page_cost_little_while_nothing_happens(desk: Desk) -> None:
    app = desk.start(HANGAR_LOG="debug")
    app.seconds_to(PAGE_ASKS)
    time.sleep(5)
    before, began = _cpu_s(desk), time.monotonic()
    time.sleep(IDLE_FOR_S)
    share = (_cpu_s(desk) - before) / (time.monotonic() - began)
    memory = {command.split("/")[-1].split(" ")[0]: _resident_mb(pid) for pid, command in desk.left_over().items()}
    print(f"\nidle: {share:.2%} of a core; resident MB: {memory}")  # noqa: T201
    _end(app)
    assert share <= MOST_OF_A_CORE


def _end(program: Running) -> None:
    program.signal()
    assert program.ended() == 0


def _cpu_s(desk: Desk) -> float:
    ticks = 0
    for pid in desk.left_over():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024
