"""The runtime's probes: good with the patches, bad without."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hangar_worker import probes


def test_every_probe_holds_on_this_runtime() -> None:
    rows = probes.rows()
    assert len(rows) == 5
    assert [row for row in rows if not row.ok] == []
    assert all(row.found.startswith("difference ") for row in rows)


def _unpatched(text: str, patch: str) -> str:
    """Takes a unified diff out of the text it made."""
    lines, at, out = text.splitlines(keepends=True), 0, []
    for line in patch.splitlines(keepends=True)[2:]:
        if line.startswith("@@"):
            start = int(line.split("+")[1].split(",")[0]) - 1
            out += lines[at:start]
            at = start
        elif line.startswith("-"):
            out.append(line[1:])
        else:
            assert lines[at] == line[1:]
            out += [] if line.startswith("+") else [lines[at]]
            at += 1
    return "".join(out + lines[at:])


def _rows_with(repository: Path, site: Path, unpatched: str, pins: Path) -> dict[str, Any]:
    """Probe rows of a copy of mlx-vlm in which one patched file is as downloaded."""
    package = Path(str(importlib.metadata.distribution("mlx-vlm").locate_file("mlx_vlm")))
    entry = next(each for each in json.loads(pins.read_text())["patched_files"] if each["path"].endswith(unpatched))
    for file in package.rglob("*.py"):
        target = site / file.relative_to(package.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(file)
    target = site / entry["path"]
    target.unlink()
    text = _unpatched((package.parent / entry["path"]).read_text(), (pins.parent / entry["patch"]).read_text())
    target.write_text(text)
    code = (
        f"import sys, json; sys.path[:0] = {[str(site), str(repository / 'worker' / 'python')]!r};"
        "from hangar_worker import probes;"
        "print(json.dumps({row.name.removeprefix('probe: '): row.ok for row in probes.rows()}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return rows


def test_shifted_per_layer_embeddings_are_seen_in_their_own_loop_only(
    repository: Path, tmp_path: Path, pins: Path
) -> None:
    rows = _rows_with(repository, tmp_path, "ar.py", pins)
    assert rows.pop("per-layer embeddings, mlx-vlm's loop") is False
    assert all(rows.values())


def test_a_lost_image_block_is_seen_in_both(repository: Path, tmp_path: Path, pins: Path) -> None:
    rows = _rows_with(repository, tmp_path, "language.py", pins)
    assert [name for name, ok in rows.items() if not ok] == [
        "image in a warm turn, mlx-vlm's loop",
        "image in a warm turn, our engine",
    ]
