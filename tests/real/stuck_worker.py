"""The real worker, made to get stuck once: `python -I stuck_worker.py WHERE ARMED --pins PATH`.

It gets stuck in the named method of its engine once the file ARMED is there, which it takes away first, so that the
worker that is started in its place runs on.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hangar_worker import __main__, engine


def stick(where: str, armed: Path) -> None:
    """Wraps one method of the engine."""
    right: Callable[..., Any] = getattr(engine.AutoregressiveEngine, where)

    def wrong(*given: Any, **named: Any) -> Any:
        if armed.exists():
            armed.unlink()
            # What a library might print: none of it may get between the frames.
            os.write(1, b"\rFetching 9 files: 33%\x1b]0;title\x07")
            # A C function called this way keeps the interpreter lock until it returns.
            ctypes.PyDLL(None).sleep(3600)
        return right(*given, **named)

    setattr(engine.AutoregressiveEngine, where, wrong)


if __name__ == "__main__":
    stick(sys.argv[1], Path(sys.argv[2]))
    sys.exit(__main__.main(sys.argv[3:]))
