"""The worker process: `python -I -m hangar_worker --pins PATH`."""

import argparse
import faulthandler
import logging
import os
import platform
import signal
import sys
import warnings
from pathlib import Path
from typing import cast

from hangar_worker import __version__, frames, log, verify
from hangar_worker.pipe import Pipe, send
from hangar_worker.service import Service


class _JsonHandler(logging.Handler):
    """Sends libraries' log records the way of our own; their text may quote data, so only its place is kept."""

    def emit(self, record: logging.LogRecord) -> None:
        log.event("warn", "library", logger=record.name, where=f"{record.module}:{record.lineno}")


def main(arguments: list[str]) -> int:
    """Says hello, then answers commands until told to stop."""
    # Stacks of all threads on demand and at a fatal signal. Written below Python, so that a thread which keeps the
    # interpreter lock for ever is shown too; they hold names of files and functions, and no values.
    faulthandler.enable(all_threads=True)
    faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)
    parser = argparse.ArgumentParser(prog="hangar_worker")
    parser.add_argument("--pins", type=Path, required=True)
    options = parser.parse_args(arguments)
    pipe = _native_pipe()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    logging.basicConfig(handlers=[_JsonHandler()], level=logging.WARNING)
    warnings.simplefilter("ignore")
    verdict = verify.verdict(verify.rows(options.pins))
    send(
        pipe,
        frames.Hello(
            protocol=frames.PROTOCOL_VERSION,
            worker=__version__,
            python=platform.python_version(),
            mlx=verify.installed_version("mlx"),
            mlx_vlm=verify.installed_version("mlx-vlm"),
            pid=os.getpid(),
            verdict=verdict,
        ),
    )
    if isinstance(verdict, frames.Differs):
        log.event("error", "runtime_differs", what=verdict.what)
    Service(pipe, verdict).run()
    log.event("info", "stopped")
    return 0


def _native_pipe() -> Pipe:
    """The pipe of the native module; starting it takes the real stdin and stdout out of Python's reach."""
    from hangar_worker import _native  # type: ignore[attr-defined]  # noqa: PLC0415 - built from Rust

    _native.start()
    return cast("Pipe", _native)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
