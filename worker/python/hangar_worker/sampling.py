"""How the next token is chosen from logits."""

import secrets
from collections.abc import Callable

import mlx.core as mx
from mlx_vlm.sample_utils import top_p_sampling

from hangar_worker import frames
from hangar_worker.faults import sampling_invalid

Sampler = Callable[[mx.array], mx.array]


def sampler(chosen: frames.Sampling) -> Sampler:
    """A sampler from `[1, vocabulary]` logits to `[1]` ids; the same seed gives the same draws.

    Raises:
        FaultError: `sampling_invalid` naming the field that is out of its range.
    """
    if chosen.temperature < 0:
        raise sampling_invalid("temperature", "must be at least 0")
    if not 0 <= chosen.top_p <= 1:
        raise sampling_invalid("top_p", "must be in 0..=1")
    if chosen.temperature == 0 or chosen.top_p == 0:
        return _likeliest
    seed = secrets.randbits(63) if chosen.seed is None else chosen.seed % (1 << 64)
    state = mx.random.key(seed)

    def draw(logits: mx.array) -> mx.array:
        nonlocal state
        state, key = mx.random.split(state)
        token: mx.array = top_p_sampling(logits, chosen.top_p, chosen.temperature, key=key)
        return token

    return draw


def _likeliest(logits: mx.array) -> mx.array:
    return mx.argmax(logits, axis=-1)
