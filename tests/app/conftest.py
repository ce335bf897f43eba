"""Fixtures: a display for the whole run; a desk, a tray and an app for each test."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from desk import APP, REPOSITORY, Desk, Display
from tray import Tray


@pytest.fixture(scope="session")
def display() -> Iterator[Display]:
    """An X server."""
    found = Display()
    yield found
    found.close()


@pytest.fixture
def make_desk() -> Iterator[Callable[..., Desk]]:
    """Makes desks; at the end of the test nothing may live on them."""
    assert APP.exists(), f"{APP} is not built: npm start builds it, or HANGAR_APP names another"
    desks: list[Desk] = []

    def make(display: str | None, *, bus: bool = True) -> Desk:
        # The path is short: sockets live under it.
        desk = Desk(Path(tempfile.mkdtemp(prefix="hangar-")), display, bus=bus)
        desks.append(desk)
        return desk

    yield make
    left = {pid: command for desk in desks for pid, command in desk.clear().items()}
    assert not left, f"still running at the end of the test: {left}"


@pytest.fixture
def desk(make_desk: Callable[..., Desk], display: Display) -> Desk:
    """A desk with display and bus."""
    return make_desk(display.name)


@pytest.fixture
def tray(desk: Desk) -> Iterator[Tray]:
    """The desk's tray."""
    found = Tray(desk.bus_address)
    yield found
    found.close()


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where pictures go."""
    return REPOSITORY / ".build" / "pictures"
