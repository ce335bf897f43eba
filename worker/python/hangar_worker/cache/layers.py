"""Keys and values of single layers, taken out of a running cache and put into a new one.

A stretch of prompt keeps, for a layer that attends to everything, the keys and values of all its tokens; for a layer
that slides, only those of its last window of tokens, because that is all that what follows can attend to. What is
kept is copied: a running cache is written in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from mlx_vlm.models.cache import KVCache, RotatingKVCache

from hangar_worker.faults import Engine, FaultError


@dataclass(frozen=True)
class LayerState:
    """Keys and values, shaped (1, heads, tokens, size), of the last tokens of a stretch."""

    keys: mx.array
    values: mx.array


Stretch = tuple[LayerState, ...]
"""One state a layer that keeps its own."""


def taken(cache: Sequence[Any], start: int, end: int) -> Stretch:
    """The stretch from `start` to `end`, which must lie at the end of what the cache has read.

    A sliding layer still has what is needed for any `end` within its last chunk.
    """
    return tuple(_taken(layer, start, end) for layer in cache)


def evaluate(stretches: Sequence[Stretch]) -> None:
    """Makes the copies."""
    mx.eval([[layer.keys, layer.values] for stretch in stretches for layer in stretch])


def nbytes(stretch: Stretch) -> int:
    """Bytes of all layers."""
    return sum(int(layer.keys.nbytes) + int(layer.values.nbytes) for layer in stretch)


def put(cache: Sequence[Any], stretches: Sequence[Stretch], end: int) -> None:
    """Puts stretches that follow each other from the first token to `end` into a new, empty cache."""
    if not stretches:
        return
    for at, layer in enumerate(cache):
        _put(layer, [stretch[at] for stretch in stretches], end)


def _taken(layer: Any, start: int, end: int) -> LayerState:
    match layer:
        case KVCache():
            first, last = start, end
            keys, values = layer.keys, layer.values
        case RotatingKVCache():
            keys, values = layer._temporal_order(layer.keys), layer._temporal_order(layer.values)  # noqa: SLF001
            # Position of the oldest token that is left.
            oldest = layer.offset - min(layer.offset, keys.shape[2])
            first, last = max(start, end - layer.max_size) - oldest, end - oldest
        case _:
            raise _unknown(layer)
    if not 0 <= first < last <= keys.shape[2] or end > layer.offset:
        raise FaultError(Engine(what="state to keep is no longer in the cache"))
    return LayerState(_copied(keys[..., first:last, :]), _copied(values[..., first:last, :]))


def _copied(part: mx.array) -> mx.array:
    # A slice keeps the whole buffer alive, and the result of an operation may take over its operand's.
    return mx.concatenate([part, part[..., :0, :]], axis=2)


def _put(layer: Any, states: list[LayerState], end: int) -> None:
    match layer:
        case KVCache():
            layer.state = _joined(states)
        case RotatingKVCache():
            tokens = 0
            kept: list[LayerState] = []
            for state in reversed(states):
                if tokens >= layer.max_size:
                    break
                kept.append(state)
                tokens += state.keys.shape[2]
            keys, values = _joined(kept[::-1])
            layer.keys, layer.values = keys[..., -layer.max_size :, :], values[..., -layer.max_size :, :]
            layer.offset, layer._idx = end, layer.keys.shape[2]  # noqa: SLF001
        case _:
            raise _unknown(layer)


def _joined(states: list[LayerState]) -> tuple[mx.array, mx.array]:
    if len(states) == 1:
        # Not the kept arrays themselves: the cache is written in place.
        return _copied(states[0].keys), _copied(states[0].values)
    keys = mx.concatenate([state.keys for state in states], axis=2)
    return keys, mx.concatenate([state.values for state in states], axis=2)


def _unknown(layer: Any) -> FaultError:
    return FaultError(Engine(what=f"a cache of type {type(layer).__name__} cannot be kept"))
