"""Compares the installed runtime with its pins and records, without importing any of its packages.

`python -I -m hangar_worker.verify --pins PATH --json [--probes]` prints one JSON value
`{"ok": bool, "rows": [{"name", "ok", "expected", "found", "cure"}]}` and exits 0 whatever the verdict;
it exits 2 on a wrong command line only.
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hangar_worker import frames, records

SCHEMA = 1
"""Version of the pins file this code reads."""

_REPAIR = "run `hangar runtime repair`"


@dataclass(frozen=True)
class Row:
    """One thing compared; `cure` is empty when it is as it must be."""

    name: str
    ok: bool
    expected: str
    found: str
    cure: str


def rows(pins_file: Path, *, thorough: bool = False) -> list[Row]:
    """Compares interpreter, packages, patched files and the worker's own files with what they should be.

    That is what every start can afford; thoroughly, every file of the engine is hashed too, and the worker's
    native module is loaded.
    """
    try:
        pins = json.loads(pins_file.read_text(encoding="utf-8"))
        if pins["schema"] != SCHEMA:
            return [Row("pins", False, f"schema {SCHEMA}", f"schema {pins['schema']}", _REPAIR)]
        refused = {(each["package"], each["version"]): each["why"] for each in pins["refused"]}
        return [
            _python_row(pins["python"]),
            *(_package_row(name, version, refused) for name, version in pins["packages"].items()),
            *(_file_row(each) for each in pins["patched_files"]),
            *_installed_rows({each["path"] for each in pins["patched_files"]}, thorough=thorough),
        ]
    except OSError as error:
        return [Row("pins", False, "a readable pins file", type(error).__name__, _REPAIR)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return [Row("pins", False, "a well-formed pins file", type(error).__name__, _REPAIR)]


def verdict(compared: list[Row]) -> frames.Verdict:
    """One verdict for the `hello` frame, naming each thing that differs."""
    wrong = [f"{row.name}: expected {row.expected}, found {row.found}" for row in compared if not row.ok]
    return frames.Differs(what="; ".join(wrong)) if wrong else frames.Verified()


def installed_version(package: str) -> str:
    """The version its metadata says, or `none`."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def main(arguments: list[str]) -> int:
    """Prints the comparison and returns the exit status."""
    parser = argparse.ArgumentParser(prog="hangar_worker.verify")
    parser.add_argument("--pins", type=Path, required=True)
    parser.add_argument("--json", action="store_true", help="print one JSON value instead of a table")
    parser.add_argument("--probes", action="store_true", help="also measure what the patches are for")
    options = parser.parse_args(arguments)
    with _stdout_kept() as out:
        compared = rows(options.pins, thorough=True)
        if options.probes:
            # Probes import the packages: pointless, and perhaps crashing, where these are not as pinned.
            compared += _probe_rows() if all(row.ok for row in compared) else []
        if options.json:
            out.write(json.dumps({"ok": all(row.ok for row in compared), "rows": [asdict(row) for row in compared]}))
            out.write("\n")
        else:
            out.writelines(_line(row) for row in compared)
    return 0


class _stdout_kept:  # noqa: N801 - a context manager, named as one
    """Gives the real stdout and sends everything libraries print to stderr meanwhile."""

    def __enter__(self) -> Any:
        sys.stdout.flush()
        self._real = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        return self._real

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()
        self._real.flush()
        os.dup2(self._real.fileno(), 1)
        self._real.close()


def _probe_rows() -> list[Row]:
    from hangar_worker import probes  # noqa: PLC0415 - imports the runtime's heavy packages

    return probes.rows()


def _line(row: Row) -> str:
    state = "ok " if row.ok else "BAD"
    return f"{state} {row.name}: {row.found} (expected {row.expected})" + (f" - {row.cure}" if row.cure else "") + "\n"


def _python_row(allowed: dict[str, str]) -> Row:
    def number(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split("."))

    ok = number(allowed["min"]) <= sys.version_info[:2] <= number(allowed["max"])
    found = ".".join(str(part) for part in sys.version_info[:3])
    expected = f"{allowed['min']} to {allowed['max']}"
    return Row("python", ok, expected, found, "" if ok else f"use Python {expected} for the runtime")


def _package_row(name: str, version: str, refused: dict[tuple[str, str], str]) -> Row:
    found = installed_version(name)
    if found == version:
        return Row(name, True, version, found, "")
    why = refused.get((name, found))
    return Row(name, False, version, found, f"{found} is refused: {why}; {_REPAIR}" if why else _REPAIR)


def _file_row(pinned: dict[str, str]) -> Row:
    after = pinned["after_sha256"]
    expected = f"patched ({after[:12]})"
    try:
        located = importlib.metadata.distribution(pinned["package"]).locate_file(pinned["path"])
        digest = hashlib.sha256(Path(str(located)).read_bytes()).hexdigest()
    except (importlib.metadata.PackageNotFoundError, OSError):
        return Row(pinned["path"], False, expected, "no such file", _REPAIR)
    if digest == after:
        return Row(pinned["path"], True, expected, expected, "")
    kind = "unpatched" if digest == pinned["before_sha256"] else "edited"
    return Row(pinned["path"], False, expected, f"{kind} ({digest[:12]})", _REPAIR)


def _installed_rows(patched: set[str], *, thorough: bool) -> list[Row]:
    worker = records.compare("hangar-worker", "hangar_worker", hash_binaries=thorough)
    made = [_record_row("hangar_worker files", worker)]
    if thorough:
        engine = records.compare("mlx-vlm", "mlx_vlm", besides=patched, hash_binaries=True)
        made.append(_record_row("mlx_vlm files", engine))
        # Loading a damaged library may end the process, and this is the one that has to say so.
        why = records.native_module() if worker.ok else "not tried: the worker's files differ"
        made.append(Row("hangar_worker native module", why is None, "loads", why or "loads", _REPAIR if why else ""))
    return made


def _record_row(name: str, compared: records.Compared) -> Row:
    return Row(name, compared.ok, compared.expected, compared.found, "" if compared.ok else _REPAIR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
