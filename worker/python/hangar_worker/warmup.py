"""First runs after loading: compile kernels, and measure the chunk size that suits this machine."""

import math
import time
from collections.abc import Callable

import mlx.core as mx
import numpy as np

from hangar_worker import chunks, frames
from hangar_worker.engine import AutoregressiveEngine, Embedded
from hangar_worker.load import LoadedModel
from hangar_worker.media import AudioInput, ImageInput
from hangar_worker.prompt import Span, TokenPrompt
from hangar_worker.sampling import Chooser

# Measuring stops here: a slow machine keeps the best size seen so far.
_BUDGET_SECONDS = 3.0
_ROUNDS = 2
_BASE_TOKENS = 512
_GREEDY = frames.Sampling(temperature=0.0)


def run(
    model: LoadedModel,
    window_tokens: int,
    asked: int | None,
    progress: Callable[[int, int], None],
    *,
    before_measuring: Callable[[], None],
) -> int:
    """Warms the engine up; the chunk asked for, or the best measured one."""
    steps = 3
    progress(0, steps)
    engine = AutoregressiveEngine(model.network, asked or chunks.CANDIDATES[0])
    _towers(engine, model)
    progress(1, steps)
    embedded = engine.embed(_words(model, 16))
    cache = engine.new_cache()
    for _ in engine.decode(engine.prefill(embedded, cache), cache, Chooser(_GREEDY), 3):
        pass
    progress(2, steps)
    # What else is going on would be measured too, and a request may come right after.
    before_measuring()
    chosen = asked or _measure(engine, model, window_tokens)
    progress(steps, steps)
    return chosen


def _towers(engine: AutoregressiveEngine, model: LoadedModel) -> None:
    """Runs a grey picture and a tenth of a second of silence through the towers."""
    if model.markers.image is not None:
        side = model.network.config.vision_config.patch_size * model.network.config.vision_config.pooling_kernel_size
        picture = ImageInput(pixels=np.full((1, 3, side, side), 0.5, np.float32), tokens=1)
        _span(engine, picture, model.markers.image.soft)
    if model.markers.audio is not None:
        frames_of_silence = 12
        silence = np.full((frames_of_silence, 128), np.log(1e-3), np.float32)
        clip = AudioInput(features=silence, mask=np.ones(frames_of_silence, np.bool_), tokens=frames_of_silence // 4)
        _span(engine, clip, model.markers.audio.soft)


def _span(engine: AutoregressiveEngine, media: ImageInput | AudioInput, soft: int) -> None:
    prompt = TokenPrompt((soft,) * media.tokens, (Span(0, media.tokens, media),), (media.tokens,))
    mx.eval(engine.prefill(engine.embed(prompt), engine.new_cache()))


def _words(model: LoadedModel, tokens: int) -> TokenPrompt:
    """Ordinary tokens in a row; which ones does not matter for time."""
    word = (model.vocabulary.encode_text(" a") or [0])[0]
    return TokenPrompt((word,) * tokens, (), (tokens,))


def _measure(engine: AutoregressiveEngine, model: LoadedModel, window_tokens: int) -> int:
    """The candidate with the best time per token; ties within noise go to the smaller, which cancels sooner."""
    limit = time.monotonic() + _BUDGET_SECONDS
    best, best_seconds = chunks.CANDIDATES[0], math.inf
    for chunk in chunks.CANDIDATES:
        if best_seconds < math.inf and (chunk > min(window_tokens, 2 * best) or time.monotonic() > limit):
            break
        embedded = engine.embed(_words(model, max(chunk, _BASE_TOKENS)))
        seconds = min(_seconds_a_token(engine, embedded, chunk) for _ in range(_ROUNDS))
        if seconds < best_seconds * 0.95:
            best, best_seconds = chunk, seconds
    return best


def _seconds_a_token(engine: AutoregressiveEngine, embedded: Embedded, chunk: int) -> float:
    started = time.monotonic()
    mx.eval(engine.prefill(embedded, engine.new_cache(), chunk_tokens=chunk))
    return (time.monotonic() - started) / embedded.tokens
