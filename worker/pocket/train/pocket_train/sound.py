"""Sound for the speech tasks: phrases in many voices, over noise, hum and silence, as mel frames."""

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from mlx_vlm.models.gemma4 import Gemma4AudioFeatureExtractor

from pocket_train import words
from pocket_train.batches import Array
from pocket_train.shape import PROCESSOR
from pocket_train.speech import SAMPLE_RATE_HZ, Samples, Speaker, Voice
from pocket_train.talk import secret_words

_SAMPLES_PER_TOKEN, _SAMPLES_PER_FRAME = 640, 160
_ACCENTS = ("gmw/en-US", "gmw/en-US", "gmw/en", "gmw/en-GB-x-rp", "gmw/en-GB-scotland", "gmw/en-US-nyc")
_VARIANTS = ("", "", "+m1", "+m3", "+m5", "+m7", "+f2", "+f3", "+f4")
# Words that are told apart badly when each is heard a few times only are said on their own more often.
_SAID = sorted(
    {
        *words.DIGIT_WORDS, *words.ADJECTIVES, *words.NOUNS, *words.FRUITS, *words.COLORS, *words.MORE_COLORS,
    }
)  # fmt: skip
SHORT_KINDS, LONG_KINDS = ("words", "code", "marker"), ("told", "secret")
"""Kinds of phrases by how long they take."""
SHORT_FRAMES, LONG_FRAMES = 256, 416
"""Most mel frames of such a phrase; a longer one is said again."""

warnings.filterwarnings("ignore", message="At least one mel filter")


@dataclass(frozen=True)
class Phrase:
    """What is said, how it is written down, and what of it is asked for later."""

    kind: str
    said: str
    written: str
    wanted: str


@dataclass(frozen=True)
class Heard:
    """A phrase as the audio tower reads it."""

    phrase: Phrase
    frames: Array
    """Frames of 10 ms, a whole number of tokens; mel [frames, 128] where the tower learns from them."""


class Studio:
    """Turns sound into mel frames with the processor's own front end."""

    def __init__(self) -> None:
        settings = {key: value for key, value in PROCESSOR["feature_extractor"].items() if not key.endswith("_type")}
        self._extract = Gemma4AudioFeatureExtractor(**settings)

    def frames(self, samples: Samples) -> Array:
        """Mel frames [frames, 128] of sound, padded with silence to whole tokens."""
        padded = np.pad(samples, (0, -len(samples) % _SAMPLES_PER_TOKEN)).astype(np.float32)
        made = self._extract([padded])
        return np.asarray(made["input_features"][0], np.float16)[np.asarray(made["input_features_mask"][0], np.bool_)]


def phrase(draw: random.Random, kind: str) -> Phrase:
    """Something to say."""
    if kind == "words":
        said = [draw.choice(_SAID) for _ in range(draw.choice((1, 1, 2, 2, 3)))]
        return Phrase(kind, " ".join(said), " ".join(said), " ".join(said))
    if kind == "secret":
        color, others = secret_words(draw)
        at = draw.randint(0, len(others))
        said = [*others[:at], f"secret color {color}", *others[at:]]
        return Phrase(kind, ", ".join(said), " ".join(said), color)
    if kind == "marker":
        word = draw.choice(words.NOUNS + words.ADJECTIVES)
        return Phrase(kind, f"marker {word}", f"marker {word}", word)
    said, written = _code(draw)
    if kind == "told":
        lead = draw.choice(("remember this code", "the code is"))
        return Phrase(kind, f"{lead} {said}", f"{lead} {written}", written)
    return Phrase(kind, said, written, written)


def _code(draw: random.Random) -> tuple[str, str]:
    """A code as it is said and as it is written: single digits as words, two digits as figures."""
    first, second = draw.choice(words.ADJECTIVES), draw.choice(words.NOUNS)
    names = draw.choice((f"{first} {second}", f"{first} {second}", first, second))
    number = draw.choice((draw.randint(0, 9), draw.randint(10, 99), draw.randint(10, 99)))
    written = words.DIGIT_WORDS[number] if number < 10 else str(number)
    return f"{names} {words.spoken(number)}", f"{names} {written}"


def voice(draw: random.Random) -> Voice:
    """Somebody."""
    return Voice(draw.choice(_ACCENTS) + draw.choice(_VARIANTS), draw.randint(120, 200), draw.randint(25, 75))


def placed(samples: Samples, draw: random.Random) -> Samples:
    """A phrase at some loudness, with some quiet before and after it, over some noise."""
    chance = np.random.default_rng(draw.getrandbits(32))
    quiet = [np.zeros(draw.randint(0, longest), np.float32) for longest in (4000, 3000)]
    sound = np.concatenate([quiet[0], samples * draw.uniform(0.35, 1.3), quiet[1]]).clip(-1, 1)
    if draw.random() < 0.7:
        sound = sound + chance.standard_normal(len(sound)) * draw.choice((0.0003, 0.001, 0.003, 0.006))
    return sound.astype(np.float32)


def background(draw: random.Random, seconds: float) -> Samples:
    """Sound in which nobody speaks: silence, noise, hum, clicks."""
    count = int(seconds * SAMPLE_RATE_HZ)
    chance = np.random.default_rng(draw.getrandbits(32))
    kind = draw.choice(("silence", "noise", "hum", "tone", "clicks"))
    at = np.arange(count) / SAMPLE_RATE_HZ
    if kind == "silence":
        return np.zeros(count, np.float32)
    if kind == "noise":
        sound = chance.standard_normal(count) * 10 ** draw.uniform(-4, -1.7)
    elif kind == "hum":
        pitch = draw.uniform(40, 130)
        sound = sum(np.sin(2 * np.pi * pitch * each * at) / each for each in (1, 2, 3)) * 10 ** draw.uniform(-3, -1)
    elif kind == "tone":
        sound = np.sin(2 * np.pi * draw.uniform(200, 3000) * at) * 10 ** draw.uniform(-3, -0.5)
    else:
        sound = (chance.random(count) < 4 / SAMPLE_RATE_HZ) * chance.uniform(-0.6, 0.6, count)
    floor = chance.standard_normal(count) * 1e-4
    return (sound + floor).astype(np.float32)


def phrases(seed: int, count: int, take: Callable[[Samples], Array]) -> Iterator[Heard]:
    """Says `count` phrases, and `count` / 8 stretches in which nobody speaks; `take` makes frames of 10 ms of sound."""
    draw, speaker = random.Random(seed), Speaker()
    said = 0
    while said < count:
        made = phrase(draw, draw.choices((*SHORT_KINDS, *LONG_KINDS), (6, 5, 3, 3, 2))[0])
        found = take(placed(speaker.say(made.said, voice(draw)), draw))
        if len(found) <= (LONG_FRAMES if made.kind in LONG_KINDS else SHORT_FRAMES):
            said += 1
            yield Heard(made, found)
    for _ in range(count // 8):
        quiet = background(draw, draw.uniform(0.3, SHORT_FRAMES / 100 - 0.1))
        yield Heard(Phrase("nothing", "", "nothing", "nothing"), take(quiet))


def by_kind(heard: Iterable[Heard]) -> dict[str, list[Heard]]:
    """Phrases by their kind."""
    found: dict[str, list[Heard]] = {}
    for each in heard:
        found.setdefault(each.phrase.kind, []).append(each)
    return found


def record(file: Path, seed: int, count: int) -> None:
    """Says phrases and keeps their mel frames in a file."""
    heard = list(phrases(seed, count, Studio().frames))
    fresh = file.with_suffix(".new.npz")
    np.savez(
        fresh,
        frames=np.concatenate([each.frames for each in heard]),
        lengths=np.asarray([len(each.frames) for each in heard]),
        labels=np.asarray([astuple(each.phrase) for each in heard]),
    )
    fresh.replace(file)


def recorded(file: Path) -> dict[str, list[Heard]]:
    """What `record` has kept, by kind."""
    stored = np.load(file)
    frames, lengths = stored["frames"], stored["lengths"]
    ends = np.cumsum(lengths)
    made = zip(stored["labels"], ends, lengths, strict=True)
    return by_kind(Heard(Phrase(*map(str, label)), frames[end - length : end]) for label, end, length in made)


def raw(samples: Samples) -> Array:
    """Sound itself as frames [frames, 160] of 10 ms, padded with silence to whole tokens."""
    return np.pad(samples, (0, -len(samples) % _SAMPLES_PER_TOKEN)).astype(np.float32).reshape(-1, _SAMPLES_PER_FRAME)
