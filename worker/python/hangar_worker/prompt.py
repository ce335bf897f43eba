"""A rendered prompt as token ids, with the places of its media and the borders between its groups."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hangar_worker import frames
from hangar_worker.encoding import text_bytes
from hangar_worker.faults import CancelledError, ContextLengthExceeded, FaultError, invalid
from hangar_worker.media import AudioInput, ImageInput, MediaInput, Reader
from hangar_worker.tokens import Vocabulary

Kind = Literal["image", "audio"]
# More soft tokens than any medium has.
_PLACE_BITS = 20


@dataclass(frozen=True)
class Markers:
    """Token ids that stand for media: one at each end and one for every soft token between."""

    begin: int
    soft: int
    end: int


@dataclass(frozen=True)
class MediaTokens:
    """Markers of what the model can perceive; nothing where it has no such tower."""

    image: Markers | None
    audio: Markers | None
    placeholders: frozenset[int]


@dataclass(frozen=True)
class Span:
    """Where the soft tokens of one medium stand: `start` up to, not with, `end`."""

    start: int
    end: int
    media: MediaInput
    content: bytes = b""
    """Hash of the medium: two with the same are the same."""

    @property
    def kind(self) -> Kind:
        """Which tower reads it."""
        return "image" if isinstance(self.media, ImageInput) else "audio"


@dataclass(frozen=True)
class Context:
    """What came before a prompt: its ids, what each token is, and the ids that end an answer."""

    ids: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    end_tokens: frozenset[int] = frozenset()


NOTHING = Context()
"""A prompt that begins anew."""


@dataclass(frozen=True)
class TokenPrompt:
    """Ids in order from the beginning of its context on, the spans of its own media, and the position after each
    of its own groups.
    """

    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    borders: tuple[int, ...]
    context: Context = NOTHING

    def keys(self) -> tuple[int, ...]:
        """What each token is: its id, or for a soft token its place in that very medium, as a number below 0."""
        keys = [*self.context.keys, *self.ids[len(self.context.keys) :]]
        for span in self.spans:
            medium = int.from_bytes(span.content) << _PLACE_BITS
            keys[span.start : span.end] = range(-medium - 1, -medium - 1 - (span.end - span.start), -1)
        return tuple(keys)


@dataclass(frozen=True)
class Room:
    """What a prompt must fit into, together with its answer."""

    window_tokens: int
    max_tokens: int

    def check_least(self, prompt_tokens: int) -> None:
        """Refuses a prompt of at least so many tokens when it leaves nothing of the window for an answer.

        What the answer may take is left out: a caller that lets it be shortened needs the exact count.

        Raises:
            FaultError: `context_length_exceeded` with that lower bound.
        """
        if prompt_tokens >= self.window_tokens:
            raise FaultError(ContextLengthExceeded(prompt_tokens, self.max_tokens, self.window_tokens))

    def check(self, prompt_tokens: int) -> None:
        """Refuses a prompt of exactly so many tokens.

        Raises:
            FaultError: `context_length_exceeded`.
        """
        if prompt_tokens + self.max_tokens > self.window_tokens:
            raise FaultError(ContextLengthExceeded(prompt_tokens, self.max_tokens, self.window_tokens))


def tokenize(  # noqa: PLR0917 - two of them about the prompt, two the model's, two the caller's limits
    prompt: frames.Prompt,
    vocabulary: Vocabulary,
    markers: MediaTokens,
    reader: Reader,
    room: Room,
    stop: Callable[[], bool] = lambda: False,
    context: Context = NOTHING,
) -> TokenPrompt:
    """Turns segments into ids behind those of a context, and no more of them than there is room for.

    The end of an answer that the context ends with already is not written twice.

    A prompt that is too long by its length in bytes alone is refused before any of it is encoded.

    Raises:
        FaultError: `prompt_invalid` naming group and segment, or `context_length_exceeded`.
        CancelledError: when told to stop.
    """
    rest = sum(_least(each, vocabulary) for group in prompt.groups for each in group.segments)
    before = len(context.ids)
    room.check_least(before + rest)
    ids = list(context.ids)
    spans: list[Span] = []
    borders: list[int] = []
    for group_at, group in enumerate(prompt.groups):
        for segment_at, segment in enumerate(group.segments):
            where = f"group {group_at} segment {segment_at}"
            _go_on(stop)
            rest -= _least(segment, vocabulary)
            match segment:
                case frames.Text():
                    for piece in vocabulary.encode_pieces(segment.text):
                        ids += piece
                        room.check_least(len(ids) + rest)
                        _go_on(stop)
                case frames.Control():
                    token = _control(segment, vocabulary, markers, where)
                    if not (len(ids) == before and ids[-1:] == [token] and token in context.end_tokens):
                        ids.append(token)
                case frames.Image():
                    media = _medium(prompt, segment.media, where, reader)
                    if not isinstance(media, ImageInput):
                        raise invalid(f"{where}: media {segment.media} is not an image")
                    _place(ids, spans, media, prompt.media[segment.media], _perceived(markers.image, "vision", where))
                case frames.Audio():
                    media = _medium(prompt, segment.media, where, reader)
                    if not isinstance(media, AudioInput):
                        raise invalid(f"{where}: media {segment.media} is not a clip")
                    _place(ids, spans, media, prompt.media[segment.media], _perceived(markers.audio, "audio", where))
        borders.append(len(ids))
    if len(ids) == before:
        raise invalid("the prompt has no tokens")
    room.check(len(ids))
    return TokenPrompt(tuple(ids), tuple(spans), tuple(borders), context)


def _least(segment: frames.Segment, vocabulary: Vocabulary) -> int:
    """A lower bound of a segment's tokens, without encoding it."""
    match segment:
        case frames.Text():
            return vocabulary.least_tokens(text_bytes(segment.text))
        case frames.Control() | frames.Image() | frames.Audio():
            return 1


def _go_on(stop: Callable[[], bool]) -> None:
    if stop():
        raise CancelledError


def _control(segment: frames.Control, vocabulary: Vocabulary, markers: MediaTokens, where: str) -> int:
    token = vocabulary.control(segment.token)
    if token is None:
        raise invalid(f"{where}: unknown control token")
    if token in markers.placeholders:
        raise invalid(f"{where}: media go in as image or audio segments, not as their placeholder")
    return token


def _medium(prompt: frames.Prompt, index: int, where: str, reader: Reader) -> MediaInput:
    if index >= len(prompt.media):
        raise invalid(f"{where}: media {index} is not among the {len(prompt.media)} given")
    return reader.read(prompt.media[index], f"media {index}")


def _perceived(markers: Markers | None, tower: str, where: str) -> Markers:
    if markers is None:
        raise invalid(f"{where}: the model has no {tower} tower")
    return markers


def _place(ids: list[int], spans: list[Span], media: MediaInput, given: frames.Media, markers: Markers) -> None:
    ids.append(markers.begin)
    spans.append(Span(len(ids), len(ids) + media.tokens, media, _content(given)))
    ids += [markers.soft] * media.tokens
    ids.append(markers.end)


def _content(media: frames.Media) -> bytes:
    match media:
        case frames.Rgb8():
            shape = f"rgb8 {media.width} {media.height} "
        case frames.Pcm16k():
            shape = "pcm16k "
    return hashlib.sha256((shape + media.data_base64).encode()).digest()
