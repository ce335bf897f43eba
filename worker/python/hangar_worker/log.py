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


def exception(name: str, error: BaseException, *, with_text: bool) -> None:
    """Writes an error line that says what was raised and where.

    The exception's own first line goes in only where no prompt was at hand: libraries quote what they choke on.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown"
    text = str(error).splitlines()[0][:200] if with_text and str(error) else None
    event("error", name, kind=type(error).__name__, where=where, text=text)
