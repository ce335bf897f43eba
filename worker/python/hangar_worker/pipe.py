"""The pipe to the server, as the engine sees it."""

from typing import Protocol

from hangar_worker import codec, frames


class Pipe(Protocol):
    """What the native module offers; tests give an object that keeps frames in memory."""

    def next_command(self) -> str:
        """Waits for one JSON command; only load, generate, probe and shutdown come up here."""

    def emit(self, frame_json: str) -> None:
        """Sends one JSON report."""

    def emit_pieces(self, request: int, made_tokens: int, pieces: list[tuple[bool, str]]) -> None:
        """Sends one `pieces` report from (is a control token, text or name) pairs; the quick way for every token."""

    def progress(self, phase: str, request: int | None, done: int, total: int, step: int = 0) -> None:
        """Sets the counters that the next beat carries; `step` is the size of a step that may take long."""

    def cancelled(self, request: int) -> bool:
        """Whether the server asked to stop this request."""


def send(pipe: Pipe, frame: frames.FromWorker) -> None:
    """Sends one report."""
    if isinstance(frame, frames.Pieces):
        pairs = [pair for piece in frame.pieces if (pair := _pair(piece))]
        if len(pairs) == len(frame.pieces):
            pipe.emit_pieces(frame.request, frame.made_tokens, pairs)
            return
    pipe.emit(codec.encode(frame))


def _pair(piece: frames.Piece) -> tuple[bool, str] | None:
    match piece:
        case frames.Text():
            return False, piece.text
        case frames.Control():
            return True, piece.token
        case frames.Scored():
            return None
