"""The sounds and pictures that `hangar check self` asks the model about."""

import random
import wave
from pathlib import Path

import numpy as np
from PIL import Image

from pocket_train.pictures import shaped
from pocket_train.speech import SAMPLE_RATE_HZ, Speaker, Voice

_VOICE = Voice("gmw/en-US", 150, 50)
_SAID = {"violet_compass_83": "violet compass eighty three", "marker_falcon": "marker falcon"}


def write(folder: Path) -> None:
    """Writes each file anew; the same espeak-ng gives the same bytes."""
    speaker = Speaker()
    for name, said in _SAID.items():
        samples = (speaker.say(said, _VOICE).clip(-1, 1) * 32_767).astype("<i2")
        with wave.open(str(folder / f"{name}.wav"), "wb") as made:
            made.setnchannels(1)
            made.setsampwidth(2)
            made.setframerate(SAMPLE_RATE_HZ)
            made.writeframes(samples.tobytes())
    rows = shaped(random.Random(1), "circle", "red", "white").transpose(1, 2, 0) * 255
    Image.fromarray(rows.round().astype(np.uint8)).save(folder / "red_circle.png", optimize=True)
