"""The runtime's lock files: every package with hashes, the pinned versions, no place to fetch from."""

import json
import re
from pathlib import Path

import pytest

_LOCKS = ["linux-x86_64", "linux-aarch64", "macos-arm64"]
_ENTRY = re.compile(r"^([a-z0-9.-]+)==(\S+) \\$")


def _entries(path: Path) -> dict[str, tuple[str, int]]:
    """Version and number of hashes by package."""
    found: dict[str, tuple[str, int]] = {}
    last = ""
    for line in path.read_text().splitlines():
        if match := _ENTRY.match(line):
            last = match[1]
            found[last] = (match[2], 0)
        elif "--hash=sha256:" in line:
            version, hashes = found[last]
            found[last] = (version, hashes + 1)
        else:
            assert line.startswith("#"), line
    return found


@pytest.mark.parametrize("system", _LOCKS)
def test_a_lock_holds_the_pinned_versions_each_with_hashes(pins: Path, system: str) -> None:
    entries = _entries(pins.parent / f"requirements-{system}.txt")
    assert all(hashes > 0 for _, hashes in entries.values())
    pinned = json.loads(pins.read_text())["packages"]
    assert {name: entries[name][0] for name in pinned} == pinned
    assert ("mlx-metal" in entries) == (system == "macos-arm64")
    assert ("mlx-cpu" in entries) == (system != "macos-arm64")


def test_every_patch_is_pinned_and_every_pinned_patch_is_there(pins: Path) -> None:
    files = json.loads(pins.read_text())["patched_files"]
    assert {each["patch"] for each in files} == {f"patches/{path.name}" for path in (pins.parent / "patches").iterdir()}
    for each in files:
        text = (pins.parent / each["patch"]).read_text()
        assert text.startswith(f"--- {each['path']}\n+++ {each['path']}\n@@ ")
