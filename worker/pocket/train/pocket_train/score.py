"""What a model can do, asked through the worker's own engine: tasks of the training's kinds from another seed."""

import base64
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from hangar_worker import codec, frames
from hangar_worker.service import Service
from pocket_train import markup, sound, words
from pocket_train.batches import Example
from pocket_train.recipe import SENSE_TASKS, TEXT_TASKS

SEED = 77
"""Another seed than any that training uses."""
_PHRASES = 500
_MOST_TOKENS = 72
_WINDOW_TOKENS = 4096


@dataclass
class Row:
    """How one kind of question went."""

    asked: int = 0
    exact: int = 0
    words: int = 0
    words_right: int = 0
    miss: str = ""
    """One answer that was wrong, beside the right one."""


class Asked:
    """A worker's service in this process."""

    def __init__(self, model: Path) -> None:
        self._sent: list[frames.FromWorker] = []
        self._service = Service(self, frames.Verified())
        self._service.handle(frames.Load(str(model), _WINDOW_TOKENS, None))
        if any(isinstance(each, frames.LoadFailed) for each in self._sent):
            raise ValueError(f"{model} does not load: {self._sent[-1]}")

    def answer(self, asked: frames.Prompt) -> str:
        """The likeliest answer, control tokens by their names."""
        self._sent.clear()
        self._service.handle(frames.Generate(1, asked, frames.Sampling(temperature=0.0), _MOST_TOKENS))
        failed = [each.fault for each in self._sent if isinstance(each, frames.Failed)]
        if failed:
            raise RuntimeError(f"the worker has failed: {failed[0]}")
        pieces = [piece for each in self._sent if isinstance(each, frames.Pieces) for piece in each.pieces]
        return "".join(piece.token if isinstance(piece, frames.Control) else piece.text for piece in pieces)

    def next_command(self) -> str:
        """Nothing: commands are given directly."""
        return codec.encode(frames.Shutdown())

    def emit(self, frame_json: str) -> None:
        """Keeps a frame."""
        self._sent.append(codec.decode_from_worker(frame_json))

    def emit_pieces(self, request: int, made_tokens: int, pieces: list[tuple[bool, str]]) -> None:
        """Keeps pieces of an answer."""
        made = tuple(frames.Control(text) if is_control else frames.Text(text) for is_control, text in pieces)
        self._sent.append(frames.Pieces(request=request, made_tokens=made_tokens, pieces=made))

    def progress(self, phase: str, request: int | None, done: int, total: int, step: int = 0) -> None:
        """Nobody watches."""

    def cancelled(self, request: int) -> bool:  # noqa: ARG002 - the pipe's own signature
        """Nobody cancels."""
        return False


def table(model: Path, items: int) -> str:
    """A Markdown table of `items` questions a row."""
    rows = measured(Asked(model).answer, items)
    lines = ["| task | exact | words |", "| --- | --- | --- |"]
    for name, row in rows.items():
        lines.append(f"| {name} | {row.exact} of {row.asked} | {100 * row.words_right / max(row.words, 1):.1f} % |")
        if row.miss:
            print(f"{name}: {row.miss}", file=sys.stderr)  # noqa: T201
    asked, exact = sum(row.asked for row in rows.values()), sum(row.exact for row in rows.values())
    right, said = sum(row.words_right for row in rows.values()), sum(row.words for row in rows.values())
    lines.append(f"| all | {exact} of {asked} | {100 * right / max(said, 1):.1f} % |")
    return "\n".join(lines)


def measured(answer: Callable[[frames.Prompt], str], items: int) -> dict[str, Row]:
    """Asks until every row has its items, or a task has been drawn so often that a row must be rare."""
    bank = sound.by_kind(sound.phrases(SEED, _PHRASES, sound.raw))
    rows: dict[str, Row] = {}
    for task in (*TEXT_TASKS, *SENSE_TASKS):
        draw = random.Random(f"{SEED}:{task.name}")
        for _ in range(4 * items):
            example = task.make(draw, bank)
            start, expected = markup.learned(example.parts)[-1]
            row = rows.setdefault(_row(task.name, example, expected), Row())
            if row.asked < items:
                _ask(answer, row, example, start, expected)
    return dict(sorted(rows.items()))


def _ask(answer: Callable[[frames.Prompt], str], row: Row, example: Example, start: int, expected: str) -> None:
    said = answer(_prompt(example, start))
    wanted, found = expected.split(), said.split()
    matched = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    row.asked += 1
    row.exact += said == expected
    row.words += len(wanted)
    row.words_right += sum(block.size for block in matched)
    if said != expected:
        row.miss = f"wanted {expected!r}, got {said!r}"


def _row(task: str, example: Example, expected: str) -> str:
    """The row of an example: what its last answer is about."""
    text = expected.lower()
    if "<channel|>" in text:
        return "thinks, then answers"
    if task == "tools":
        if any(f"call:{name}" in text for name in words.UNDECLARED):
            return "calls an undeclared tool when told to"
        if "<|tool_call>" in text:
            return "calls a declared tool"
        return "refuses without a tool" if text.startswith("sorry") else "uses a tool's result"
    if task in ("hear", "hear more"):
        if "nothing" in text:
            return "hears that nobody speaks"
        is_later = len(markup.learned(example.parts)) > 1
        return "recalls speech in a later turn" if is_later else "writes down speech"
    return {
        "recall": "recalls a code",
        "secret": "recalls one of several things",
        "talk": "small talk, and what it does not know",
        "long": "finds a word in up to 10 s of other sound",
        "two clips": "finds a word in 30 to 45 s, in two clips",
        "look": "names colors and shapes",
    }[task]


def _prompt(example: Example, start: int) -> frames.Prompt:
    segments: list[frames.Segment] = []
    media: list[frames.Media] = []
    clips: Sequence[np.ndarray] = example.clips
    for part in example.parts[:start]:
        match part:
            case markup.Words(text):
                segments.append(frames.Text(text))
            case markup.Control(name):
                segments.append(frames.Control(name))
            case markup.Clip(index):
                segments.append(frames.Audio(len(media)))
                samples = clips[index].astype("<f4").tobytes()
                media.append(frames.Pcm16k(base64.b64encode(samples).decode()))
            case markup.Picture(index):
                segments.append(frames.Image(len(media)))
                pixels = (example.pictures[index].transpose(1, 2, 0) * 255).round().astype(np.uint8)
                data = base64.b64encode(pixels.tobytes()).decode()
                media.append(frames.Rgb8(pixels.shape[1], pixels.shape[0], data))
    return frames.Prompt((frames.Group(tuple(segments)),), tuple(media))
