"""Measures on miniatures what the runtime's patches are for, through mlx-vlm's own loop and through ours."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from mlx_vlm.generate.ar import generate_step

from hangar_worker import exactness, faults, load, log, miniature
from hangar_worker.engine import AutoregressiveEngine
from hangar_worker.media import ImageInput
from hangar_worker.prompt import Span, TokenPrompt
from hangar_worker.verify import Row

LIMIT = 1e-4
"""Largest difference of log-probabilities that rounding of 32-bit floats explains."""

_REPAIR = "run `hangar runtime repair`; if that does not help, this mlx-vlm differs from the pinned one"
# More than the sliding window, and cut away from any round number.
_WORDS = tuple(110 + 7 * at % 500 for at in range(41))
_WARM_TOKENS = 22
_IMAGE_TOKENS = 9


def rows() -> list[Row]:
    """All probes; one that raises is a row that is not ok."""
    return [
        _row("probe: shared keys and values stored (with audio tower)", "loads", _stored_shared_loads),
        _row("probe: per-layer embeddings, mlx-vlm's loop", _expected(), _per_layer_by_generate_step),
        _row("probe: per-layer embeddings, our engine", _expected(), _per_layer_by_engine),
        _row("probe: image in a warm turn, mlx-vlm's loop", _expected(), _image_by_generate_step),
        _row("probe: image in a warm turn, our engine", _expected(), _image_by_engine),
    ]


def _expected() -> str:
    return f"warm = cold within {LIMIT:.0e}"


def _row(name: str, expected: str, measure: Callable[[], float]) -> Row:
    try:
        worst = measure()
    except Exception as error:  # noqa: BLE001 - a probe that raises has failed
        log.exception("probe_failed", error, with_text=True)
        fault = faults.from_exception(error, name)
        return Row(name, False, expected, f"{type(fault).__name__}: {getattr(fault, 'what', '')}", _REPAIR)
    ok = worst <= LIMIT
    return Row(name, ok, expected, f"difference {worst:.1e}", "" if ok else _REPAIR)


def _network(shape: miniature.Shape, *, store_shared: bool = False) -> Any:
    with tempfile.TemporaryDirectory(prefix="hangar-probe-") as folder:
        miniature.write(Path(folder), shape, store_shared=store_shared)
        return load.weights(Path(folder))


def _stored_shared_loads() -> float:
    """The difference between a model that stores needless keys and values and the same one without them."""
    prompt = TokenPrompt(_WORDS, (), (len(_WORDS),))
    distributions = []
    for stored in (True, False):
        network = _network(miniature.E2B, store_shared=stored)
        if not load.holds(network, "audio_tower.output_proj.weight"):
            return float("inf")
        engine = AutoregressiveEngine(network, len(_WORDS))
        distributions.append(exactness.cold_distribution(engine, engine.embed(prompt)))
    return exactness.difference(*distributions)


def _per_layer_by_generate_step() -> float:
    return _by_generate_step(_network(miniature.E2B), TokenPrompt(_WORDS, (), ()))


def _per_layer_by_engine() -> float:
    return _by_engine(_network(miniature.E2B), TokenPrompt(_WORDS, (), ()))


def _image_by_generate_step() -> float:
    return _by_generate_step(_network(miniature.A4B_26B), _with_image())


def _image_by_engine() -> float:
    return _by_engine(_network(miniature.A4B_26B), _with_image())


def _with_image() -> TokenPrompt:
    """Words, and after the warm border an image with a few words on both sides."""
    start = _WARM_TOKENS + 3
    marks = miniature.configuration(miniature.A4B_26B, 0)
    image = (marks["boi_token_id"], *(marks["image_token_id"],) * _IMAGE_TOKENS, marks["eoi_token_id"])
    ids = (*_WORDS[: start - 1], *image, *_WORDS[start - 1 : start + 4])
    pixels = np.random.default_rng(5).random((1, 3, 144, 144), np.float32)
    return TokenPrompt(ids, (Span(start, start + _IMAGE_TOKENS, ImageInput(pixels, _IMAGE_TOKENS)),), ())


def _by_engine(network: Any, prompt: TokenPrompt) -> float:
    engine = AutoregressiveEngine(network, 7)
    embedded = engine.embed(prompt)
    warm = exactness.warm_distribution(engine, embedded, _WARM_TOKENS)
    return exactness.difference(exactness.cold_distribution(engine, embedded), warm)


def _by_generate_step(network: Any, prompt: TokenPrompt) -> float:
    def first(start: int, end: int, cache: list[Any], max_tokens: int) -> mx.array | None:
        ids = mx.array([prompt.ids[start:end]])
        pictures = [span for span in prompt.spans if start <= span.start < end]
        more = {"mm_token_type_ids": (ids == network.config.image_token_id).astype(mx.int32)} if pictures else {}
        pixels = mx.array(pictures[0].media.pixels) if pictures and isinstance(pictures[0].media, ImageInput) else None
        made = generate_step(
            ids, network, pixels, None, prompt_cache=cache, max_tokens=max_tokens, temperature=0.0, **more
        )
        return next((distribution for _, distribution in made), None)

    whole = len(prompt.ids)
    cold = first(0, whole, network.make_cache(), 1)
    cache = network.make_cache()
    # No token asked for: the cache then holds the prompt's tokens and no generated one.
    first(0, _WARM_TOKENS, cache, 0)
    warm = first(_WARM_TOKENS, whole, cache, 1)
    if cold is None or warm is None:
        return float("inf")
    return exactness.difference(cold, warm)
