"""Media: bad ones refused by name, good ones exact whatever stands beside them."""

import base64
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from conftest import Loaded
from conversation import failed, finished, generate, pixels, prompt, samples, user

from hangar_worker import frames, load, miniature
from hangar_worker.engine import AutoregressiveEngine
from hangar_worker.faults import PromptInvalid
from hangar_worker.prompt import Room, tokenize

_TONE = np.sin(np.arange(8000) / 5) * 0.3


def _base64(length: int) -> str:
    return base64.b64encode(bytes(length)).decode()


def _asked(segment: frames.Segment, *media: frames.Media) -> frames.Generate:
    return generate(prompt(user("look", segment), media=media), 2)


@pytest.mark.parametrize(
    ("medium", "named"),
    [
        (frames.Rgb8(2, 2, _base64(11)), "media 0: 2x2 RGB takes 12 bytes, found 11"),
        (frames.Rgb8(0, 2, ""), "media 0: 0x2 RGB takes 0 bytes, found 0"),
        (frames.Rgb8(1, 1, "not base64"), "media 0: data_base64 is not base64"),
    ],
)
def test_a_bad_image_is_named(pocket: Loaded, medium: frames.Media, named: str) -> None:
    assert failed(pocket.ask(_asked(frames.Image(0), medium))) == PromptInvalid(named)


@pytest.mark.parametrize(
    ("medium", "named"),
    [
        (frames.Pcm16k(_base64(3)), "3 bytes are not whole"),
        (frames.Pcm16k(""), "0 samples"),
        (samples(_TONE[:319]), "319 samples; a clip holds 320 to 480000"),
        (samples(np.zeros(480_001)), "480001 samples"),
        (samples(np.full(800, np.nan)), "finite"),
    ],
)
def test_a_bad_clip_is_named(pocket: Loaded, medium: frames.Media, named: str) -> None:
    fault = failed(pocket.ask(_asked(frames.Audio(0), medium)))
    assert isinstance(fault, PromptInvalid)
    assert "media 0: " in fault.what
    assert named in fault.what


@pytest.mark.parametrize("length", [320, 321, 640, 641, 6_400, 7_777, 257_920, 260_480, 479_999, 480_000])
def test_a_clip_of_any_length_takes_as_many_tokens_as_the_tower_gives_rows(pocket: Loaded, length: int) -> None:
    clip = samples(np.resize(_TONE, length))
    assert finished(pocket.ask(_asked(frames.Audio(0), clip))).tokens.completion_tokens in (1, 2)


def test_a_clip_padded_as_the_server_pads_it_takes_a_token_for_every_640_samples(pocket_folder: Path) -> None:
    reader = load.load(pocket_folder).reader
    for tokens in (1, 2, 3, 5, 17, 25, 64, 401, 402, 404, 405, 406, 408, 625, 699, 749, 750):
        clip = reader.read(samples(np.resize(_TONE, tokens * 640)), "clip")
        assert clip.tokens == tokens


def test_segments_of_long_sound_are_embedded_each_as_it_is_alone(miniature_folder: Callable[..., Path]) -> None:
    model = load.load(miniature_folder(miniature.E2B))
    engine = AutoregressiveEngine(model.network, 64)
    chance = np.random.default_rng(3)
    media = [samples(chance.normal(0, 0.1, tokens * 640)) for tokens in (640, 485, 640)]

    def rows(*placed: frames.Segment) -> list[mx.array]:
        whole = frames.Prompt((frames.Group(placed),), tuple(media))
        asked = tokenize(whole, model.vocabulary, model.markers, model.reader, Room(4096, 0))
        embedded = engine.embed(asked).rows
        return [embedded[:, span.start : span.end] for span in asked.spans]

    segments = [frames.Audio(at) for at in range(len(media))]
    for at, beside in enumerate(rows(*segments)):
        [alone] = rows(segments[at])
        assert mx.max(mx.abs(beside - alone)).item() == 0


@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 40), (300, 7), (3, 2), (1000, 30)])
def test_an_image_of_any_shape_is_read(pocket: Loaded, width: int, height: int) -> None:
    grey = pixels(np.full((height, width, 3), 128))
    assert finished(pocket.ask(_asked(frames.Image(0), grey))).tokens.completion_tokens in (1, 2)


def test_an_image_in_an_audio_segment_is_refused(pocket: Loaded) -> None:
    fault = failed(pocket.ask(_asked(frames.Audio(0), pixels(np.zeros((4, 4, 3))))))
    assert fault == PromptInvalid("group 1 segment 3: media 0 is not a clip")


def test_audio_is_refused_by_a_model_without_ears(miniature_folder: Callable[..., Path]) -> None:
    worker = Loaded(miniature_folder(miniature.DENSE_31B))
    fault = failed(worker.ask(_asked(frames.Audio(0), samples(_TONE))))
    assert isinstance(fault, PromptInvalid)
    assert "no audio tower" in fault.what


def test_clips_and_images_are_embedded_the_same_alone_and_beside_others(pocket_folder: Path) -> None:
    model = load.load(pocket_folder)
    engine = AutoregressiveEngine(model.network, 64)
    chance = np.random.default_rng(0)
    media = [
        samples(_TONE),
        samples(_TONE[:900]),
        pixels(chance.integers(0, 255, (90, 90, 3))),
        pixels(chance.integers(0, 255, (30, 90, 3))),
    ]
    segments = (frames.Audio(1), frames.Audio(0), frames.Image(3), frames.Image(2))

    def rows(*placed: frames.Segment) -> list[mx.array]:
        whole = frames.Prompt((frames.Group(placed),), tuple(media))
        asked = tokenize(whole, model.vocabulary, model.markers, model.reader, Room(4096, 0))
        embedded = engine.embed(asked).rows
        return [embedded[:, span.start : span.end] for span in asked.spans]

    for at, beside in enumerate(rows(*segments)):
        [alone] = rows(segments[at])
        assert beside.shape == alone.shape
        assert mx.max(mx.abs(beside - alone)).item() == 0
    first, second = rows(segments[0], segments[1])
    assert first.shape != second.shape


def test_an_image_block_on_a_bidirectional_model_is_one_chunk_and_causal_on_others(
    miniature_folder: Callable[..., Path],
) -> None:
    for shape in (miniature.A4B_26B, miniature.E2B):
        model = load.load(miniature_folder(shape))
        asked = prompt(user("a", frames.Image(0), "b"), media=[pixels(np.full((90, 90, 3), 9))])
        made = tokenize(asked, model.vocabulary, model.markers, model.reader, Room(4096, 0))
        embedded = AutoregressiveEngine(model.network, 4).embed(made)
        expected = tuple((span.start, span.end) for span in made.spans) if shape.bidirectional_images else ()
        assert embedded.whole == expected
