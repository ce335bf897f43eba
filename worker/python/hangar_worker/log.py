"""Structured log lines on stderr: one JSON object a line, never a prompt, media or a key."""

import json
import sys
import traceback
from typing import Literal

Level = Literal["debug", "info", "warn", "error"]
Value = str | int | float | bool | None


def event(level: Level, name: str, **fields: Value) -> None:
    """Writes one line with the event's name and its figures."""
    line = json.dumps({"level": level, "event": name, **fields}, default=str)
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def exception(name: str, error: BaseException) -> None:
    """Writes an error line that says what was raised and where.

    The exception's own text is kept only up to its first line and cut short: libraries put shapes and
    tensor names there, and a long text could carry a prompt.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    text = str(error).splitlines()[0][:200] if str(error) else ""
    event("error", name, kind=type(error).__name__, where=where, text=text)
