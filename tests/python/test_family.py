"""Every member of the family, with and without shared keys and values, stored and not: loads, and warm = cold."""

from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from conftest import Loaded
from conversation import finished, generate, pixels, prompt, samples, user, words

from hangar_worker import exactness, frames, load, miniature, probes
from hangar_worker.engine import AutoregressiveEngine

VARIANTS = [
    pytest.param(shape, shared, stored, id=f"{shape.name}-{kind}")
    for shape in miniature.FAMILY
    for kind, shared, stored in (("not-sharing", 0, False), ("sharing", 3, False), ("sharing-stored", 3, True))
]


@pytest.mark.parametrize(("shape", "shared", "stored"), VARIANTS)
def test_loads_answers_and_warm_equals_cold(
    shape: miniature.Shape, shared: int, stored: bool, miniature_folder: Callable[..., Path]
) -> None:
    worker = Loaded(miniature_folder(shape, shared, stored), chunk=7)
    loaded = worker.loading[-1]
    assert isinstance(loaded, frames.Loaded), loaded
    assert (loaded.model.image, loaded.model.audio) == (True, shape.audio)
    assert finished(worker.ask(generate(words(30), 5))).tokens.completion_tokens in range(1, 6)

    chance = np.random.default_rng(3)
    media: list[frames.Media] = [pixels(chance.integers(0, 255, (40, 70, 3)))]
    asked: list[frames.Segment | str] = ["look ", frames.Image(0), " here"]
    if shape.audio:
        media.append(samples(chance.uniform(-0.3, 0.3, 5000)))
        asked += [frames.Audio(1), " and listen"]
    measured = worker.ask(
        frames.Probe(2, prompt(user("first words of some length"), user(*asked), user("so?"), media=media))
    )
    assert isinstance(measured[-1], frames.Probed), measured
    report = measured[-1].report
    assert report.borders == 4
    assert report.prompt_tokens > 50
    assert report.worst_abs_logprob < probes.LIMIT


@pytest.mark.parametrize("shape", miniature.FAMILY, ids=lambda shape: str(shape.name))
def test_stored_keys_and_values_of_sharing_layers_change_nothing(
    shape: miniature.Shape, miniature_folder: Callable[..., Path]
) -> None:
    stored_file = mx.load(str(miniature_folder(shape, 3, True) / "model.safetensors"))
    plain_file = mx.load(str(miniature_folder(shape, 3, False) / "model.safetensors"))
    assert len(stored_file) >= len(plain_file) + 3 * 2
    distributions = []
    for stored in (True, False):
        model = load.load(miniature_folder(shape, 3, stored))
        engine = AutoregressiveEngine(model.network, 64)
        ids = tuple(model.vocabulary.encode_text("the same words for both"))
        distributions.append(exactness.cold_distribution(engine, engine.embed(probes.TokenPrompt(ids, (), ()))))
    assert exactness.difference(*distributions) == 0


def test_the_same_number_builds_the_same_miniature_and_another_does_not(tmp_path: Path) -> None:
    for name, number in (("one", 1), ("again", 1), ("other", 2)):
        miniature.write(tmp_path / name, miniature.E2B, number=number)
    one, again, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other
