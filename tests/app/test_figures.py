"""How fast the panel is there, and what app and page cost while nothing happens."""

import os
import re
import time
import urllib.request
from pathlib import Path
from statistics import median

import pytest
from desk import PAGE_ASKS, REPOSITORY, Desk, Running

HANGAR = Path(os.environ.get("HANGAR_BINARY", REPOSITORY / ".build/bin/hangar"))
pytestmark = pytest.mark.usefixtures("tray")
ROUNDS = 5
USABLE_WITHIN_S = 1.5
SETTLES_S = 5
IDLE_FOR_S = 30
MOST_OF_A_CORE = 0.01


def test_panel_is_usable_soon_after_the_start(desk: Desk) -> None:
    app_s, page_s = [], []
    for _ in range(ROUNDS):
        server = desk.start("serve", program=HANGAR)
        _fetch_page(server.url())
        page_s.append(time.monotonic() - server.began)
        _end(server)
        app = desk.start(HANGAR_LOG="debug")
        app_s.append(app.seconds_to(PAGE_ASKS))
        _end(app)
    app, page = median(app_s), median(page_s)
    print(  # noqa: T201
        f"\nfigures: medians of {ROUNDS} rounds, worst in brackets: from the app's start to its panel usable {app:.2f} s "
        f"({max(app_s):.2f}), bar {USABLE_WITHIN_S} s; from the plain server's start to page, script, style and first "
        f"snapshot handed out {page:.2f} s ({max(page_s):.2f}); {app / page:.1f} times"
    )
    assert app <= USABLE_WITHIN_S, app_s


def test_app_and_page_cost_little_while_nothing_happens(desk: Desk) -> None:
    app = desk.start(HANGAR_LOG="debug")
    app.seconds_to(PAGE_ASKS)
    time.sleep(SETTLES_S)
    before, began = _cpu_s(desk), time.monotonic()
    time.sleep(IDLE_FOR_S)
    elapsed = time.monotonic() - began
    shares = {pid: (used - before.get(pid, 0.0)) / elapsed for pid, used in _cpu_s(desk).items()}
    share = sum(shares.values())
    each = {
        f"{command.split('/')[-1].split(' ')[0]}": f"{shares.get(pid, 0):.2%}, {_resident_mb(pid)} MB"
        for pid, command in desk.left_over().items()
    }
    print(f"\nfigures: idle {share:.2%} of a core, bar {MOST_OF_A_CORE:.0%}; {each}")  # noqa: T201
    _end(app)
    assert share <= MOST_OF_A_CORE


def _fetch_page(url: str) -> None:
    html = _read(f"{url}/")
    parts = re.findall(r'(?:src|href)="\.?(/[^"]+)"', html)
    assert parts, html
    for part in parts:
        _read(url + part)
    with urllib.request.urlopen(f"{url}/admin/events", timeout=60) as events:  # noqa: S310
        assert b"snapshot" in events.readline()


def _read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310
        return answer.read().decode(errors="replace")


def _end(program: Running) -> None:
    program.signal()
    assert program.ended() == 0


def _cpu_s(desk: Desk) -> dict[int, float]:
    used = {}
    for pid in desk.left_over():
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


def _resident_mb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024
