"""Sound tasks: what is heard, what is remembered of it later, a word somewhere in a long clip or in two."""

import random
from collections.abc import Sequence

import numpy as np

from pocket_train.batches import Array, Example
from pocket_train.markup import Clip, Script
from pocket_train.shape import FRAMES_PER_TOKEN, LONGEST_CLIP_TOKENS
from pocket_train.sound import Heard
from pocket_train.talk import chatter, register

Bank = dict[str, list[Heard]]
"""Recorded phrases by kind."""

_TRANSCRIBE = (
    "Transcribe the following speech segment in its original language. Follow these specific instructions for "
    "formatting the output: * Only output the transcription, with no newlines. * When transcribing numbers, write the "
    "digits."
)
_HEARD = ("what do you hear?", "what do you hear?", "what do you hear?", "what was said?")
_KEEP = ("remember this.", "listen.", "remember this code.")
_LATER = {
    "code": (("what is the code?", "the code is {w}."), ("tell me the code.", "the code is {w}.")),
    "told": (("what is the code?", "the code is {w}."), ("tell me the code.", "the code is {w}.")),
    "secret": (("what is the secret color?", "the secret color is {w}."),),
    "marker": (("what is the marker?", "the marker is {w}."),),
}


def hear(draw: random.Random, bank: Bank, kinds: Sequence[str]) -> Example:
    """A clip and the question what is in it, or a clip to keep and a question later."""
    heard = draw.choice(bank[draw.choice(kinds)])
    script = Script()
    _ask(script, draw, heard, [Clip(0)])
    return Example(script.parts, clips=[heard.frames])


def long_clip(draw: random.Random, bank: Bank, frames: int) -> Example:
    """A marker somewhere in a clip of at most that many frames, in which otherwise nobody speaks."""
    heard = draw.choice(bank["marker"])
    total = _whole(draw.randint(frames // 2, frames))
    clip = _hidden(draw, bank, heard, total)
    script = Script()
    _ask(script, draw, heard, [Clip(0)])
    return Example(script.parts, clips=[clip])


def two_clips(draw: random.Random, bank: Bank, rest_frames: int) -> Example:
    """A sound of more than 30 s in two clips, the marker in either, more often in the second."""
    heard = draw.choice(bank["marker"])
    first = LONGEST_CLIP_TOKENS * FRAMES_PER_TOKEN - draw.choice((0, 0, _whole(draw.randint(0, 400))))
    second = _whole(draw.randint(300, rest_frames))
    if draw.random() < 0.7:
        clips = [_quiet(draw, bank, first), _hidden(draw, bank, heard, second)]
    else:
        clips = [_hidden(draw, bank, heard, first), _quiet(draw, bank, second)]
    script = Script()
    _ask(script, draw, heard, [Clip(0), Clip(1)])
    return Example(script.parts, clips=clips)


def _ask(script: Script, draw: random.Random, heard: Heard, clips: list[Clip]) -> None:
    is_titled = draw.random() < 0.4
    phrase = heard.phrase

    def user(text: str) -> None:
        said = register(text, is_titled)
        parts = (*clips, said) if draw.random() < 0.5 else (said, *clips)
        script.user(*parts)

    later = _LATER.get(phrase.kind)
    kind = draw.random()
    if later is None or kind < 0.55:
        if kind < 0.05:
            script.user(*((*clips, _TRANSCRIBE) if draw.random() < 0.5 else (_TRANSCRIBE, *clips)))
            script.says(phrase.written)
            return
        user(draw.choice(_HEARD))
        script.says(register(f"i heard {phrase.written}.", is_titled))
        if later is None or draw.random() < 0.6:
            return
    elif kind < 0.7:
        question, answer = draw.choice(later)
        user(question)
        script.says(register(answer, is_titled).format(w=phrase.wanted))
        return
    else:
        user(draw.choice(_KEEP))
        script.says(register("noted.", is_titled))
    if draw.random() < 0.3:
        chatter(script, draw, is_titled)
    question, answer = draw.choice(later)
    script.user(register(question, is_titled))
    script.says(register(answer, is_titled).format(w=phrase.wanted))


def _hidden(draw: random.Random, bank: Bank, heard: Heard, frames: int) -> Array:
    """A phrase at a random place among sounds in which nobody speaks."""
    spare = max(frames - len(heard.frames), 0)
    before = _whole(draw.randint(0, spare))
    around = (_quiet(draw, bank, before), heard.frames, _quiet(draw, bank, spare - before))
    return np.concatenate([each for each in around if len(each)])


def _quiet(draw: random.Random, bank: Bank, frames: int) -> Array:
    found = [bank["nothing"][0].frames[:0]]
    while (short := frames - sum(map(len, found))) > 0:
        found.append(draw.choice(bank["nothing"]).frames[:short])
    return np.concatenate(found)


def _whole(frames: int) -> int:
    return frames - frames % FRAMES_PER_TOKEN
