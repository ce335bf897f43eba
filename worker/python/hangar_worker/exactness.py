"""Compares warm runs of the engine with a cold one: the same prompt must give the same distribution."""

import math
from typing import cast

import mlx.core as mx

from hangar_worker import frames
from hangar_worker.engine import AutoregressiveEngine, Embedded, Watch, log_probabilities
from hangar_worker.faults import CancelledError, invalid
from hangar_worker.prompt import TokenPrompt


def measure(engine: AutoregressiveEngine, prompt: TokenPrompt, watch: Watch) -> frames.ProbeReport:
    """Tries every group border inside the prompt as the warm border; the watch is asked before every pass.

    Raises:
        FaultError: `prompt_invalid` when there is no such border.
        CancelledError: when the watch says so.
    """
    tokens = len(prompt.ids)
    borders = sorted({border for border in prompt.borders if 0 < border < tokens})
    if not borders:
        raise invalid("a probe needs at least two groups with tokens")
    embedded = engine.embed(prompt)
    total = tokens * (len(borders) + 1)
    _go_on(watch, 0, total, tokens)
    cold = cold_distribution(engine, embedded)
    worst = 0.0
    for tried, border in enumerate(borders, start=1):
        before = tokens * tried
        _go_on(watch, before, total, tokens)

        def within(done: int, _: int, step: int, before: int = before) -> bool:
            return watch(before + done, total, step)

        worst = max(worst, difference(cold, warm_distribution(engine, embedded, border, within)))
    _go_on(watch, total, total, 0)
    return frames.ProbeReport(worst_abs_logprob=worst, borders=len(borders), prompt_tokens=tokens)


def cold_distribution(engine: AutoregressiveEngine, embedded: Embedded) -> mx.array:
    """Next-token log-probabilities after the whole prompt in one pass over an empty cache."""
    return log_probabilities(engine.pass_at_once(embedded))


def warm_distribution(
    engine: AutoregressiveEngine, embedded: Embedded, border: int, watch: Watch | None = None
) -> mx.array:
    """The same with the prompt's first `border` tokens already in the cache, in the engine's own chunks."""
    cache = engine.new_cache()
    mx.eval(engine.prefill(embedded, cache, end=border, watch=watch))
    return log_probabilities(engine.prefill(embedded, cache, start=border, watch=watch))


def difference(one: mx.array, other: mx.array) -> float:
    """Largest absolute difference; a value that is not a number counts as the largest float."""
    found = cast("float", mx.max(mx.abs(one - other)).item())
    return found if math.isfinite(found) else 1.7e308


def _go_on(watch: Watch, done: int, total: int, step: int) -> None:
    if watch(done, total, step):
        raise CancelledError
