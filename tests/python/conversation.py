"""Prompts as the server renders them, and answers read back."""

import base64
import re
import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from hangar_worker import frames

_MARK = re.compile(r'(<\|[a-z_]+>|<[a-z_]+\|>|<\|"\|>|<bos>)')
GREEDY = frames.Sampling(temperature=0.0)


def segments(written: str) -> tuple[frames.Segment, ...]:
    """Reads markup of a test into segments: marks become control tokens, the rest is literal text."""
    parts = [part for part in _MARK.split(written) if part]
    return tuple(frames.Control(part) if _MARK.fullmatch(part) else frames.Text(part) for part in parts)


def group(*parts: str | frames.Segment) -> frames.Group:
    """One message from markup and media segments."""
    return frames.Group(
        tuple(each for part in parts for each in (segments(part) if isinstance(part, str) else (part,)))
    )


def user(*parts: str | frames.Segment) -> frames.Group:
    """A user's turn."""
    return group("<|turn>user\n", *parts, "<turn|>\n")


def model(text: str) -> frames.Group:
    """An earlier answer."""
    return group("<|turn>model\n", text, "<turn|>\n")


def prompt(*groups: frames.Group, media: Sequence[frames.Media] = ()) -> frames.Prompt:
    """A whole prompt that asks for an answer."""
    return frames.Prompt((group("<bos>"), *groups, group("<|turn>model\n")), tuple(media))


def words(count: int) -> frames.Prompt:
    """A long prompt of ordinary words."""
    said = " ".join(("cobalt", "lantern", "four", "amber", "window")[at % 5] for at in range(count))
    return prompt(user("remember this. ", said), user("what is the code?"))


def generate(
    asked: frames.Prompt, max_tokens: int = 30, sampling: frames.Sampling = GREEDY, request: int = 1
) -> frames.Generate:
    """The command for it."""
    return frames.Generate(request, asked, sampling, max_tokens)


def pieces(answer: Sequence[frames.FromWorker]) -> list[frames.Piece]:
    """Pieces of an answer in order."""
    return [piece for frame in answer if isinstance(frame, frames.Pieces) for piece in frame.pieces]


def written(answer: Sequence[frames.FromWorker]) -> str:
    """An answer as one string, control tokens by their names."""
    return "".join(piece.token if isinstance(piece, frames.Control) else piece.text for piece in pieces(answer))


def finished(answer: Sequence[frames.FromWorker]) -> frames.Finished:
    """The frame that ends an answer in order."""
    last = answer[-1]
    assert isinstance(last, frames.Finished), last
    return last


def failed(answer: Sequence[frames.FromWorker]) -> object:
    """The fault that ends an answer."""
    last = answer[-1]
    assert isinstance(last, frames.Failed), last
    return last.fault


def picture(path: Path) -> frames.Rgb8:
    """An image file as the server hands it on."""
    with Image.open(path) as opened:
        return pixels(np.asarray(opened.convert("RGB")))


def pixels(rows: np.ndarray) -> frames.Rgb8:
    """Rows of RGB as media."""
    return frames.Rgb8(rows.shape[1], rows.shape[0], base64.b64encode(rows.astype(np.uint8).tobytes()).decode())


def clip(path: Path) -> frames.Pcm16k:
    """A 16 kHz mono WAV as the server hands it on."""
    with wave.open(str(path)) as opened:
        assert (opened.getframerate(), opened.getnchannels(), opened.getsampwidth()) == (16000, 1, 2)
        return samples(np.frombuffer(opened.readframes(opened.getnframes()), "<i2") / 32768)


def samples(values: np.ndarray) -> frames.Pcm16k:
    """Samples in -1..1 as media."""
    return frames.Pcm16k(base64.b64encode(values.astype("<f4").tobytes()).decode())
