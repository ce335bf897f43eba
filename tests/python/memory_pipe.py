"""A pipe whose other end is the test."""

from collections.abc import Callable

from hangar_worker import codec, frames


class MemoryPipe:
    """Keeps what the worker sends, hands out commands, and cancels when the test's rule says so."""

    def __init__(self, *commands: frames.ToWorker) -> None:
        self._commands = [codec.encode(command) for command in commands]
        self.reset()

    def reset(self) -> None:
        """Forgets what was sent and lets nothing be cancelled."""
        self.sent: list[frames.FromWorker] = []
        self.phases: list[tuple[str, int | None, int, int]] = []
        self.steps: list[int] = []
        self.cancel_when: Callable[[], bool] = lambda: False

    def take(self) -> list[frames.FromWorker]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent

    def next_command(self) -> str:
        return self._commands.pop(0)

    def emit(self, frame_json: str) -> None:
        self.sent.append(codec.decode_from_worker(frame_json))

    def emit_pieces(self, request: int, made_tokens: int, pieces: list[tuple[bool, str]]) -> None:
        made = tuple(frames.Control(text) if is_control else frames.Text(text) for is_control, text in pieces)
        self.sent.append(frames.Pieces(request=request, made_tokens=made_tokens, pieces=made))

    def progress(self, phase: str, request: int | None, done: int, total: int, step: int = 0) -> None:
        self.phases.append((phase, request, done, total))
        self.steps.append(step)

    def cancelled(self, request: int) -> bool:
        return self.cancel_when()
