"""Compares an installed package's files with the record that its installer left of them."""

import base64
import csv
import hashlib
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_NATIVE = "hangar_worker._native"


@dataclass(frozen=True)
class Compared:
    """How many files of a package are recorded, and those that are not as recorded."""

    recorded: int
    wrong: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is a record and every file is as it says."""
        return self.recorded > 0 and not self.wrong

    @property
    def expected(self) -> str:
        """What should be there."""
        return f"{self.recorded} files as installed" if self.recorded else "files as installed"

    @property
    def found(self) -> str:
        """What is there."""
        if not self.recorded:
            return "no record of its files"
        others = f" and {len(self.wrong) - 1} more" if len(self.wrong) > 1 else ""
        return f"{self.wrong[0]}{others}" if self.wrong else self.expected


def compare(package: str, folder: str, *, besides: Iterable[str] = (), hash_binaries: bool) -> Compared:
    """Compares the files of a package's folder by size and hash, those in `besides` left out.

    Without `hash_binaries` only sources are hashed: a native module of megabytes takes longer than a start may.
    """
    left_out = set(besides)
    wrong: list[str] = []
    recorded = 0
    for name, digest, size, path in _recorded(package):
        # Compiled files are made anew whenever Python likes.
        if not name.startswith(f"{folder}/") or "__pycache__" in name or name in left_out:
            continue
        recorded += 1
        hashed = digest if hash_binaries or name.endswith(".py") else ""
        if differs := _difference(path, hashed, size):
            wrong.append(f"{name} {differs}")
    return Compared(recorded, tuple(wrong))


def native_module() -> str | None:
    """Loads the worker's recorded native module; why that cannot be done, or nothing when it can."""
    for name, _, _, path in _recorded("hangar-worker"):
        if not name.startswith(_NATIVE.replace(".", "/") + ".") or not name.endswith(".so"):
            continue
        spec = importlib.util.spec_from_file_location(_NATIVE, path)
        if spec is None or spec.loader is None:
            return "no module"
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        except Exception as error:  # noqa: BLE001 - a module that does not load may raise anything
            return type(error).__name__
        return None
    return "none"


def _recorded(package: str) -> list[tuple[str, str, int | None, Path]]:
    """Name, SHA-256, size and place of every file that an installed package recorded."""
    try:
        distribution = importlib.metadata.distribution(package)
        lines = list(csv.reader((distribution.read_text("RECORD") or "").splitlines()))
    except (importlib.metadata.PackageNotFoundError, OSError, ValueError, csv.Error):
        return []
    return [
        (
            line[0],
            line[1].removeprefix("sha256="),
            int(line[2]) if line[2].isdecimal() else None,
            _place(distribution, line[0]),
        )
        for line in lines
        if len(line) == 3
    ]


def _place(distribution: importlib.metadata.Distribution, name: str) -> Path:
    return Path(str(distribution.locate_file(name)))


def _difference(path: Path, digest: str, size: int | None) -> str | None:
    try:
        if size is not None and path.stat().st_size != size:
            return "is edited"
        if not digest:
            return None
        found = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({type(error).__name__})"
    return None if found == digest else "is edited"
