"""The pipe to the server, as the engine sees it."""

from typing import Protocol

from hangar_worker import codec, frames


class Pipe(Protocol):
    """What the native module offers; tests give an object that keeps frames in memory."""

    def next_command(self) -> str:
        """Waits for one JSON command; only load, generate, probe and shutdown come up here."""

    def emit(self, frame_json: str) -> None:
        """Sends one JSON report."""

    def progress(self, phase: str, request: int | None, done: int, total: int) -> None:
        """Sets the counters that the next beat carries."""

    def cancelled(self, request: int) -> bool:
        """Whether the server asked to stop this request."""


def send(pipe: Pipe, frame: frames.FromWorker) -> None:
    """Sends one report."""
    pipe.emit(codec.encode(frame))
