"""Pictures: plain colors, and one shape on a ground of another color."""

import random

import numpy as np

from pocket_train import words
from pocket_train.batches import Array, Example
from pocket_train.markup import Picture, Script
from pocket_train.shape import PICTURE_PIXELS
from pocket_train.talk import chatter, register

_RGB = {
    "red": (220, 30, 30),
    "green": (30, 180, 40),
    "blue": (30, 60, 220),
    "yellow": (240, 220, 40),
    "orange": (250, 140, 20),
    "purple": (140, 40, 170),
    "white": (245, 245, 245),
    "black": (12, 12, 12),
}
_SPREAD = 18


def plain(draw: random.Random, color: str) -> Array:
    """A picture of one color: [3, side, side] in 0..1."""
    return _finished(np.broadcast_to(_near(draw, color), (PICTURE_PIXELS, PICTURE_PIXELS, 3)), draw)


def shaped(draw: random.Random, shape: str, color: str, ground: str) -> Array:
    """One shape of a color on a ground of another, somewhere, of some size."""
    size = draw.uniform(0.28, 0.42) * PICTURE_PIXELS
    middle = [PICTURE_PIXELS / 2 + draw.uniform(-1, 1) * (PICTURE_PIXELS / 2 - size - 4) for _ in range(2)]
    y, x = np.mgrid[:PICTURE_PIXELS, :PICTURE_PIXELS].astype(np.float32)
    across, down = (x - middle[0]) / size, (y - middle[1]) / size
    if shape == "circle":
        inside = across**2 + down**2 <= 1
    elif shape == "square":
        inside = np.maximum(np.abs(across), np.abs(down)) <= 0.88
    elif shape == "triangle":
        inside = (down <= 0.85) & (np.abs(across) <= (down + 1) * 0.54)
    else:
        inside = (np.minimum(np.abs(across), np.abs(down)) <= 0.3) & (np.maximum(np.abs(across), np.abs(down)) <= 1)
    rows = np.where(inside[..., None], _near(draw, color), _near(draw, ground))
    return _finished(rows, draw)


def look(draw: random.Random) -> Example:
    """What color, what shape, what is there; or asked again later without the picture."""
    is_titled = draw.random() < 0.4
    color = draw.choice(words.COLORS)
    script = Script()

    def ask(question: str, answer: str, *first: Picture) -> None:
        text = register(question, is_titled)
        parts = (*first, text) if draw.random() < 0.7 else (text, *first)
        script.user(*parts)
        script.says(register(answer, is_titled))

    if draw.random() < 0.4:
        pixels = plain(draw, color)
        ask("what color is this?", f"the color is {color}.", Picture(0))
    else:
        shape = draw.choice(words.SHAPES)
        ground = draw.choice([each for each in words.COLORS if each != color])
        pixels = shaped(draw, shape, color, ground)
        article = "an" if color[0] in "aeiou" else "a"
        questions = (
            ("what shape is this?", f"the shape is a {shape}."),
            ("what do you see?", f"i see {article} {color} {shape}."),
            (f"what color is the {shape}?", f"the {shape} is {color}."),
        )
        ask(*draw.choice(questions), Picture(0))
        if draw.random() < 0.5:
            if draw.random() < 0.3:
                chatter(script, draw, is_titled)
            ask("what shape was it?", f"the shape was a {shape}.")
    return Example(script.parts, pictures=[pixels])


def _near(draw: random.Random, color: str) -> Array:
    return np.asarray(_RGB[color], np.float32) + np.asarray([draw.uniform(-_SPREAD, _SPREAD) for _ in range(3)])


def _finished(rows: Array, draw: random.Random) -> Array:
    chance = np.random.default_rng(draw.getrandbits(32))
    noisy = rows + chance.standard_normal(rows.shape) * draw.uniform(0, 8)
    # Whole steps, as in a file.
    return (noisy.clip(0, 255).astype(np.uint8) / np.float32(255)).transpose(2, 0, 1)
