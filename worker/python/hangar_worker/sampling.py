"""How the next token is chosen from logits.

The order is: the grammar's mask; repetition, then presence and frequency penalty; temperature; top_k; top_p; min_p.
Each filter sees the distribution that the one before it left, renormalised.
"""

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import cast

import mlx.core as mx

from hangar_worker import frames
from hangar_worker.constraint import Constraint
from hangar_worker.faults import sampling_invalid

REPETITION_WINDOW_TOKENS = 64
"""Tokens of prompt and answer that the repetition penalty looks back on."""
STOPS_MAX = 4
STOP_CHARACTERS_MAX = 1000
LOGPROBS_MAX = 20
_LEAST_LOGPROB = -9999.0


@dataclass(frozen=True)
class Score:
    """Log-probabilities of one choice, not yet evaluated: of the token chosen, and the likeliest tokens with theirs."""

    chosen: mx.array
    ids: mx.array
    logprobs: mx.array

    def logprob(self) -> float:
        """Log-probability of the token chosen."""
        return max(cast("float", self.chosen.item()), _LEAST_LOGPROB)

    def top(self) -> list[tuple[int, float]]:
        """The likeliest tokens with their log-probabilities."""
        ids, logprobs = cast("list[int]", self.ids.tolist()), cast("list[float]", self.logprobs.tolist())
        return [(token, max(logprob, _LEAST_LOGPROB)) for token, logprob in zip(ids, logprobs, strict=True)]


@dataclass(frozen=True)
class Choice:
    """A token as an array of one id, being computed from the moment it is there."""

    token: mx.array
    score: Score | None

    @property
    def id(self) -> int:
        """The token; waits until it is computed."""
        return cast("int", self.token.item())


def check(chosen: frames.Sampling) -> None:
    """Checks every figure.

    Raises:
        FaultError: `sampling_invalid` naming the field that is out of its range.
    """
    # Written so that a figure that is no number fails too.
    rules = (
        ("temperature", 0 <= chosen.temperature < float("inf"), "must be at least 0"),
        ("top_p", 0 <= chosen.top_p <= 1, "must be in 0..=1"),
        ("min_p", 0 <= chosen.min_p <= 1, "must be in 0..=1"),
        ("repetition_penalty", 0 < chosen.repetition_penalty < float("inf"), "must be over 0"),
        ("presence_penalty", -2 <= chosen.presence_penalty <= 2, "must be in -2..=2"),
        ("frequency_penalty", -2 <= chosen.frequency_penalty <= 2, "must be in -2..=2"),
        ("stop", len(chosen.stop) <= STOPS_MAX, f"must hold at most {STOPS_MAX} texts"),
        ("stop", all(chosen.stop), "must not hold an empty text"),
        (
            "stop",
            all(len(stop) <= STOP_CHARACTERS_MAX for stop in chosen.stop),
            f"must hold texts of at most {STOP_CHARACTERS_MAX} characters",
        ),
        ("logprobs", chosen.logprobs is None or chosen.logprobs <= LOGPROBS_MAX, f"must be at most {LOGPROBS_MAX}"),
    )
    for field, holds, what in rules:
        if not holds:
            raise sampling_invalid(field, what)


class Chooser:
    """Chooses the tokens of one answer; a seed of its own, so that no other answer can change its draws."""

    def __init__(
        self,
        chosen: frames.Sampling,
        *,
        prompt_ids: Sequence[int] = (),
        control_ids: Collection[int] = (),
        constraint: Constraint | None = None,
    ) -> None:
        """Takes a checked order, the prompt, the tokens that are no text, and the compiled grammar."""
        self._chosen = chosen
        self._constraint = constraint
        self._control_ids = control_ids
        self._penalties: _Penalties | None = None
        self._recent = tuple(prompt_ids[-REPETITION_WINDOW_TOKENS:])
        self._draw: Callable[[mx.array], mx.array] = _likeliest
        if chosen.temperature > 0:
            self._draw = _Draw(chosen)

    @property
    def waits(self) -> bool:
        """Whether the next choice depends on knowing the last one, and not only on its array."""
        return self._constraint is not None

    @property
    def is_over(self) -> bool:
        """Whether the grammar allows nothing more."""
        return self._constraint is not None and self._constraint.is_over

    def choose(self, logits: mx.array) -> Choice:
        """Chooses from `[1, vocabulary]` logits."""
        wide = logits.astype(mx.float32)
        allowed = wide if self._constraint is None else self._constraint.apply(wide)
        penalties = self._penalties_for(int(wide.shape[-1]))
        token = self._draw(allowed if penalties is None else penalties.apply(allowed))
        if penalties is not None:
            penalties.add(token)
        score = None if self._chosen.logprobs is None else _score(wide, token, self._chosen.logprobs)
        mx.async_eval(token, *(() if score is None else (score.chosen, score.ids, score.logprobs)))
        return Choice(token, score)

    def took(self, token: int) -> None:
        """Tells which token was chosen last, before the next choice is asked for.

        Raises:
            FaultError: when the grammar became too complex to go on with.
        """
        if self._constraint is not None:
            self._constraint.take(token)

    def _penalties_for(self, rows: int) -> "_Penalties | None":
        chosen = self._chosen
        if (chosen.repetition_penalty, chosen.presence_penalty, chosen.frequency_penalty) == (1, 0, 0):
            return None
        if self._penalties is None:
            self._penalties = _Penalties(chosen, rows, self._recent, self._control_ids)
        return self._penalties


class _Penalties:
    """Repetition over the last tokens of prompt and answer, presence and frequency over the answer.

    Control tokens are left alone: a penalty on the end of a turn would keep an answer from ending.
    """

    def __init__(
        self, chosen: frames.Sampling, rows: int, recent: tuple[int, ...], control_ids: Collection[int]
    ) -> None:
        self._chosen = chosen
        self._recent = mx.array(recent, mx.int32)
        self._is_text = mx.ones(rows, mx.float32)
        if control_ids:
            self._is_text[mx.array(sorted(each for each in control_ids if each < rows))] = 0.0
        self._counts = mx.zeros(rows, mx.float32)

    def apply(self, logits: mx.array) -> mx.array:
        factor = self._chosen.repetition_penalty
        if factor != 1 and self._recent.size:
            seen = logits[:, self._recent]
            damped = mx.where(seen > 0, seen / factor, seen * factor)
            damped = mx.where(self._is_text[self._recent] > 0, damped, seen)
            logits = mx.put_along_axis(logits, self._recent[None], damped, axis=-1)
        presence = (self._counts > 0) * self._chosen.presence_penalty
        return logits - presence - self._counts * self._chosen.frequency_penalty

    def add(self, token: mx.array) -> None:
        self._counts = self._counts.at[token].add(self._is_text[token])
        self._recent = mx.concatenate([self._recent, token.astype(mx.int32)])[-REPETITION_WINDOW_TOKENS:]


class _Draw:
    """Draws by temperature and filters, from a random state of its own."""

    def __init__(self, chosen: frames.Sampling) -> None:
        seed = secrets.randbits(63) if chosen.seed is None else chosen.seed % (1 << 64)
        self._state = mx.random.key(seed)
        self._chosen = chosen

    def __call__(self, logits: mx.array) -> mx.array:
        chosen = self._chosen
        self._state, key = mx.random.split(self._state)
        tempered = logits / chosen.temperature
        order = None
        if chosen.top_k or chosen.top_p < 1:
            order = _likeliest_first(tempered, chosen.top_k)
            tempered = mx.take_along_axis(tempered, order, axis=-1)
        if chosen.top_p < 1:
            before = mx.cumsum(mx.softmax(tempered, axis=-1), axis=-1, inclusive=False)
            first = mx.arange(tempered.shape[-1]) == 0
            tempered = mx.where(first | (before < chosen.top_p), tempered, -mx.inf)
        if chosen.min_p > 0:
            # Above the likeliest by this much in logits is this part of it in probability.
            least = mx.max(tempered, axis=-1, keepdims=True) + mx.log(mx.array(chosen.min_p))
            tempered = mx.where(tempered >= least, tempered, -mx.inf)
        drawn = mx.random.categorical(tempered, key=key)
        return drawn if order is None else mx.take_along_axis(order, drawn[:, None], axis=-1)[:, 0]


def _likeliest(logits: mx.array) -> mx.array:
    return mx.argmax(logits, axis=-1)


def _likeliest_first(logits: mx.array, count: int) -> mx.array:
    """Ids from the likeliest on; only so many of them, or all where the count is 0."""
    if count == 0 or count >= logits.shape[-1]:
        return mx.argsort(-logits, axis=-1)
    ids = mx.argpartition(-logits, count - 1, axis=-1)[:, :count]
    return mx.take_along_axis(ids, mx.argsort(-mx.take_along_axis(logits, ids, axis=-1), axis=-1), axis=-1)


def _score(logits: mx.array, token: mx.array, count: int) -> Score:
    """The model's own log-probabilities, whatever the token was chosen by."""
    own = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    ids = _likeliest_first(own, count)[0] if count else mx.array([], mx.uint32)
    return Score(chosen=own[0, token], ids=ids, logprobs=own[0, ids])
