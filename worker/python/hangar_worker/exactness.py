"""Compares warm runs of the engine with a cold one: the same prompt must give the same distribution."""

import math
from collections.abc import Callable
from typing import cast

import mlx.core as mx

from hangar_worker import frames
from hangar_worker.engine import AutoregressiveEngine, Embedded, log_probabilities
from hangar_worker.faults import invalid
from hangar_worker.prompt import TokenPrompt


def measure(
    engine: AutoregressiveEngine, prompt: TokenPrompt, progress: Callable[[int, int], None]
) -> frames.ProbeReport:
    """Tries every group border inside the prompt as the warm border.

    Raises:
        FaultError: `prompt_invalid` when there is no such border.
    """
    tokens = len(prompt.ids)
    borders = sorted({border for border in prompt.borders if 0 < border < tokens})
    if not borders:
        raise invalid("a probe needs at least two groups with tokens")
    embedded = engine.embed(prompt)
    total = tokens * (len(borders) + 1)
    progress(0, total)
    cold = cold_distribution(engine, embedded)
    worst = 0.0
    for tried, border in enumerate(borders, start=1):
        progress(tokens * tried, total)
        worst = max(worst, difference(cold, warm_distribution(engine, embedded, border)))
    progress(total, total)
    return frames.ProbeReport(worst_abs_logprob=worst, borders=len(borders), prompt_tokens=tokens)


def cold_distribution(engine: AutoregressiveEngine, embedded: Embedded) -> mx.array:
    """Next-token log-probabilities after the whole prompt in one pass over an empty cache."""
    return log_probabilities(engine.pass_at_once(embedded))


def warm_distribution(engine: AutoregressiveEngine, embedded: Embedded, border: int) -> mx.array:
    """The same with the prompt's first `border` tokens already in the cache, in the engine's own chunks."""
    cache = engine.new_cache()
    mx.eval(engine.prefill(embedded, cache, end=border))
    return log_probabilities(engine.prefill(embedded, cache, start=border))


def difference(one: mx.array, other: mx.array) -> float:
    """Largest absolute difference; a value that is not a number counts as the largest float."""
    found = cast("float", mx.max(mx.abs(one - other)).item())
    return found if math.isfinite(found) else 1.7e308
