"""Examples to arrays: token ids, what of them is learned, and where rows of sound and pictures go."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from pocket_train.markup import Clip, Control, Part, Words
from pocket_train.shape import FRAMES_PER_TOKEN, MEL_BINS, PICTURE_PIXELS, PICTURE_TOKENS

Array = npt.NDArray[Any]
Batch = dict[str, Array]
"""Arrays of one form."""

# Predicting prompts too teaches what words there are and how they follow; little, for most of it is chance.
_PROMPT_WEIGHT = 0.05
# So many examples in a row that found no place mean that there is none.
_MISSES_OF_A_FULL_BATCH = 12


@dataclass(frozen=True)
class Example:
    """A conversation with its media."""

    parts: Sequence[Part]
    clips: Sequence[Array] = ()
    """Mel frames [frames, 128] of each clip."""
    pictures: Sequence[Array] = ()
    """Pixels [3, height, width] of each picture, in 0..1."""


@dataclass(frozen=True)
class Form:
    """The fixed sizes of a batch: every other size costs a compilation."""

    rows: int
    tokens: int
    learned: int
    clips: int = 0
    frames: int = 0
    pictures: int = 0


class Encoder:
    """Conversations to token ids, as the worker makes them of segments."""

    def __init__(self, tokenizer_json: str) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._tokenizer.encode_special_tokens = True
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=True)
        self._ids = {name: vocabulary[name] for name in vocabulary if name.startswith("<")}
        self.audio, self.image = self._ids["<|audio|>"], self._ids["<|image|>"]

    def encode(self, example: Example) -> tuple[list[int], list[bool]]:
        """Ids, and which of them are learned."""
        ids: list[int] = []
        learned: list[bool] = []
        for part in example.parts:
            if isinstance(part, Words):
                made = self._tokenizer.encode(part.text, add_special_tokens=False).ids
                is_learned = part.learned
            elif isinstance(part, Control):
                made, is_learned = [self._ids[part.name]], part.learned
            elif isinstance(part, Clip):
                count = tokens_of(len(example.clips[part.index]))
                made = [self._ids["<|audio>"], *[self.audio] * count, self._ids["<audio|>"]]
                is_learned = False
            else:
                made = [self._ids["<|image>"], *[self.image] * PICTURE_TOKENS, self._ids["<image|>"]]
                is_learned = False
            ids += made
            learned += [is_learned] * len(made)
        return ids, learned

    def batch(self, make: Callable[[], Example], form: Form, draw: random.Random) -> Batch:
        """Rows of a form, each packed with as many examples as it holds; media are numbered through the batch.

        Examples that no row could hold are left out. A row's examples do not see each other: `part` numbers them.
        """
        filling = _Filling(form)
        misses = 0
        while misses < _MISSES_OF_A_FULL_BATCH and not filling.is_out_of_media():
            example = make()
            ids, learned = self.encode(example)
            if len(ids) > form.tokens or not 0 < sum(learned) <= form.learned:
                continue
            row = filling.row_for(len(ids), sum(learned), example)
            if row is None:
                misses += 1
                continue
            self._place(filling, row, example, ids, learned)
        for row in range(form.rows):
            self._learn(filling, row, draw)
        return filling.made

    def _place(self, filling: "_Filling", row: int, example: Example, ids: list[int], learned: list[bool]) -> None:
        """Writes one example behind the others of a row."""
        form, made, first = filling.form, filling.made, filling.used[row]
        filling.parts[row] += 1
        made["ids"][row, first : first + len(ids)] = ids
        made["part"][row, first : first + len(ids)] = filling.parts[row]
        filling.learned[row] += [first + at for at, is_learned in enumerate(learned) if is_learned]
        media = (self.audio, self.image)
        filling.others[row] += [first + at for at in range(1, len(ids)) if not learned[at] and ids[at] not in media]
        if example.clips:
            places: list[int] = []
            for frames in example.clips:
                made["mel"][filling.clips, : len(frames)] = frames
                made["valid"][filling.clips, : len(frames)] = True
                begin = filling.clips * (form.frames // FRAMES_PER_TOKEN)
                places += range(begin, begin + tokens_of(len(frames)))
                filling.clips += 1
            made["heard"][row, first + np.flatnonzero(np.asarray(ids) == self.audio)] = places
        if example.pictures:
            places = []
            for pixels in example.pictures:
                made["pixels"][filling.pictures] = pixels
                places += range(filling.pictures * PICTURE_TOKENS, (filling.pictures + 1) * PICTURE_TOKENS)
                filling.pictures += 1
            made["seen"][row, first + np.flatnonzero(np.asarray(ids) == self.image)] = places
        filling.used[row] += len(ids)

    def _learn(self, filling: "_Filling", row: int, draw: random.Random) -> None:
        """Chooses what of a row is predicted: every learned token, and where there is room some of the prompts."""
        made, wanted, others = filling.made, filling.learned[row], filling.others[row]
        extra = draw.sample(others, min(filling.form.learned - len(wanted), len(others)))
        places = np.asarray(wanted + extra, np.int32)
        made["at"][row, : len(places)] = places - 1
        made["want"][row, : len(places)] = made["ids"][row, places]
        made["weight"][row, : len(wanted)] = 1.0
        made["weight"][row, len(wanted) : len(places)] = _PROMPT_WEIGHT


class _Filling:
    """Arrays of a form on the way to being full."""

    def __init__(self, form: Form) -> None:
        rows, wide = form.rows, (form.rows, form.tokens)
        self.form = form
        self.made: Batch = {
            "ids": np.zeros(wide, np.int32),
            "part": np.zeros(wide, np.int32),
            "at": np.zeros((rows, form.learned), np.int32),
            "want": np.zeros((rows, form.learned), np.int32),
            "weight": np.zeros((rows, form.learned), np.float32),
        }
        if form.clips:
            self.made["mel"] = np.zeros((form.clips, form.frames, MEL_BINS), np.float32)
            self.made["valid"] = np.zeros((form.clips, form.frames), np.bool_)
            self.made["heard"] = np.full(wide, -1, np.int32)
        if form.pictures:
            self.made["pixels"] = np.zeros((form.pictures, 3, PICTURE_PIXELS, PICTURE_PIXELS), np.float32)
            self.made["seen"] = np.full(wide, -1, np.int32)
        self.used, self.parts = [0] * rows, [0] * rows
        self.learned: list[list[int]] = [[] for _ in range(rows)]
        self.others: list[list[int]] = [[] for _ in range(rows)]
        self.clips = self.pictures = 0

    def row_for(self, tokens: int, learned: int, example: Example) -> int | None:
        """The emptiest row that still holds an example, if any does."""
        form = self.form
        row = min(range(form.rows), key=lambda each: self.used[each])
        fits = (
            self.used[row] + tokens <= form.tokens
            and learned <= form.learned - len(self.learned[row])
            and self.clips + len(example.clips) <= form.clips
            and self.pictures + len(example.pictures) <= form.pictures
            and all(len(frames) <= form.frames for frames in example.clips)
        )
        return row if fits else None

    def is_out_of_media(self) -> bool:
        """Whether everything that a batch of media is for has its place."""
        form = self.form
        has_media = form.clips + form.pictures > 0
        return has_media and self.clips == form.clips and self.pictures == form.pictures


def tokens_of(frames: int) -> int:
    """Audio tokens of so many mel frames: two convolutions that each keep every second."""
    return (frames + 3) // 4
