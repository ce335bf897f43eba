"""The choice of tokens: figures, filters and penalties on made-up logits, seeds through the engine."""

import math
from collections import Counter
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from conftest import Loaded
from conversation import GREEDY, failed, finished, generate, pieces, prompt, user, words, written

from hangar_worker import exactness, frames
from hangar_worker.faults import SamplingInvalid
from hangar_worker.sampling import Chooser

PROBABILITIES = (0.4, 0.3, 0.15, 0.1, 0.05)


def _logits(*probabilities: float) -> mx.array:
    return mx.log(mx.array([probabilities or PROBABILITIES]))


def _drawn(draws: int = 400, logits: mx.array | None = None, **sampling: Any) -> dict[int, float]:
    """How often each token is drawn."""
    chooser = Chooser(frames.Sampling(seed=1, **sampling))
    found = Counter(chooser.choose(_logits() if logits is None else logits).id for _ in range(draws))
    return {token: count / draws for token, count in found.items()}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("temperature", value) for value in (-0.1, math.nan, math.inf)),
        *(("top_p", value) for value in (-0.1, 1.1, math.nan)),
        *(("min_p", value) for value in (-0.1, 1.1, math.nan)),
        *(("repetition_penalty", value) for value in (0.0, -1.0, math.nan, math.inf)),
        *(("presence_penalty", value) for value in (-2.1, 2.1, math.nan)),
        *(("frequency_penalty", value) for value in (-2.1, 2.1, math.nan)),
        *(("stop", value) for value in (("a", "b", "c", "d", "e"), ("a", ""), ("a" * 1001,))),
        ("logprobs", 21),
    ],
)
def test_a_figure_out_of_its_range_is_refused_by_name_and_the_next_request_works(
    pocket: Loaded, field: str, value: object
) -> None:
    asked = frames.Sampling(**{field: value})  # type: ignore[arg-type]
    fault = failed(pocket.ask(generate(prompt(user("hi")), sampling=asked)))
    assert isinstance(fault, SamplingInvalid)
    assert fault.field == field
    assert finished(pocket.ask(generate(prompt(user("hello."))))).reason == "stop"


def test_temperature_0_takes_the_likeliest_whatever_the_filters_say() -> None:
    assert _drawn(20, temperature=0.0, top_k=3, top_p=0.5, min_p=0.1) == {0: 1.0}


def test_the_default_draws_from_the_models_own_distribution() -> None:
    found = _drawn(4000)
    assert all(abs(found[token] - wanted) < 0.04 for token, wanted in enumerate(PROBABILITIES))


def test_temperature_flattens_and_sharpens() -> None:
    assert _drawn(2000, temperature=0.5)[0] == pytest.approx(0.16 / 0.285, abs=0.05)
    assert _drawn(2000, temperature=100.0)[4] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(
    ("sampling", "left"),
    [
        ({"top_k": 1}, {0}),
        ({"top_k": 3}, {0, 1, 2}),
        ({"top_k": 99}, {0, 1, 2, 3, 4}),
        ({"top_p": 0.0}, {0}),
        ({"top_p": 0.39}, {0}),
        ({"top_p": 0.69}, {0, 1}),
        ({"top_p": 0.71}, {0, 1, 2}),
        ({"min_p": 1.0}, {0}),
        ({"min_p": 0.3}, {0, 1, 2}),
        ({"min_p": 0.2}, {0, 1, 2, 3}),
        # top_p sees what top_k left: 0.4 of 0.7 is over a half.
        ({"top_k": 2, "top_p": 0.55}, {0}),
        ({"top_p": 0.55}, {0, 1}),
        # Filters see the distribution after temperature.
        ({"temperature": 0.25, "top_p": 0.7}, {0}),
        ({"temperature": 4.0, "min_p": 0.5}, {0, 1, 2, 3, 4}),
    ],
)
def test_a_filter_leaves_these_tokens(sampling: dict[str, Any], left: set[int]) -> None:
    assert set(_drawn(**sampling)) == left


def test_the_tokens_of_a_filter_are_found_wherever_they_stand() -> None:
    draw = np.random.default_rng(3)
    for _ in range(20):
        logits = mx.array(draw.normal(size=(1, 700)), mx.float32)
        count = int(draw.integers(1, 40))
        likeliest = set(np.argsort(-np.array(logits)[0])[:count].tolist())
        assert set(_drawn(30, logits, top_k=count, temperature=5.0)) <= likeliest


def test_every_choice_of_parameters_draws_a_token_that_the_parameters_allow() -> None:
    draw = np.random.default_rng(9)
    for number in range(200):
        logits = mx.array(draw.normal(scale=draw.uniform(0.1, 30), size=(1, 50)), mx.float32)
        chosen = frames.Sampling(
            temperature=float(draw.uniform(0, 3)),
            top_k=int(draw.integers(0, 60)),
            top_p=float(draw.uniform(0, 1)),
            min_p=float(draw.uniform(0, 1)),
            seed=number,
        )
        token = Chooser(chosen).choose(logits).id
        better = int((np.array(logits)[0] > float(logits[0, token].item())).sum())
        assert 0 <= token < 50
        assert better < (chosen.top_k or 50)


def _penalised(taken: list[int], prompt_ids: tuple[int, ...] = (), **sampling: Any) -> list[float]:
    """Logits after penalties, told by the tokens that greedy choices would then prefer."""
    chooser = Chooser(frames.Sampling(temperature=0.0, **sampling), prompt_ids=prompt_ids, control_ids={4})
    logits = mx.array([[2.0, 1.0, -1.0, 0.5, 3.0]])
    penalties = chooser._penalties_for(5)
    assert penalties is not None
    for token in taken:
        penalties.add(mx.array([token]))
    found: Any = penalties.apply(logits).tolist()
    return [round(each, 4) for each in found[0]]


def test_presence_and_frequency_count_text_tokens_of_the_answer_only() -> None:
    assert _penalised([0, 0, 2, 4], (1, 1), presence_penalty=0.5) == [1.5, 1.0, -1.5, 0.5, 3.0]
    assert _penalised([0, 0, 2, 4], (1, 1), frequency_penalty=0.25) == [1.5, 1.0, -1.25, 0.5, 3.0]
    assert _penalised([0], frequency_penalty=-1.0) == [3.0, 1.0, -1.0, 0.5, 3.0]


def test_repetition_damps_what_prompt_and_answer_held_lately_and_no_control_token() -> None:
    assert _penalised([2], (0, 4), repetition_penalty=2.0) == [1.0, 1.0, -2.0, 0.5, 3.0]
    assert _penalised([], (0,) * 3 + (1,) * 64, repetition_penalty=2.0) == [2.0, 0.5, -1.0, 0.5, 3.0]
    assert _penalised([1] * 64, (0,) * 3, repetition_penalty=2.0) == [2.0, 0.5, -1.0, 0.5, 3.0]
    assert _penalised([], repetition_penalty=2.0) == [2.0, 1.0, -1.0, 0.5, 3.0]


@pytest.mark.parametrize("penalty", ["presence_penalty", "frequency_penalty", "repetition_penalty"])
def test_a_penalty_reaches_an_answer(pocket: Loaded, penalty: str) -> None:
    def text(**more: Any) -> str:
        return written(pocket.ask(generate(words(40), 40, frames.Sampling(temperature=3.0, seed=5, **more))))

    assert text(**{penalty: 2.0}) != text()


def test_penalties_never_keep_a_turn_from_ending(pocket: Loaded) -> None:
    sampling = frames.Sampling(temperature=0.0, repetition_penalty=1e6)
    end = finished(pocket.ask(generate(prompt(user("hello."), user("hello.")), 64, sampling)))
    assert end.reason == "stop"


def test_a_seed_gives_its_text_whatever_was_asked_or_cancelled_in_between(pocket: Loaded) -> None:
    asked = prompt(user("say something."))
    wanted = frames.Sampling(temperature=3.0, top_k=50, top_p=0.95, min_p=0.001, seed=11, presence_penalty=0.5)
    first = written(pocket.ask(generate(asked, 24, wanted)))
    pocket.ask(generate(words(100), 9, frames.Sampling(temperature=2.0, seed=12)))
    pocket.pipe.cancel_when = lambda: len(pieces(pocket.pipe.sent)) >= 3
    assert finished(pocket.ask(generate(asked, 24, wanted))).reason == "cancelled"
    pocket.pipe.reset()
    mx.random.seed(99)
    assert written(pocket.ask(generate(asked, 24, wanted))) == first


def test_the_largest_seed_is_a_seed(pocket: Loaded) -> None:
    assert finished(pocket.ask(generate(prompt(user("hi")), 2, frames.Sampling(seed=2**64 - 1))))


def _scored(answer: list[frames.FromWorker]) -> list[frames.ScoredToken]:
    return [token for piece in pieces(answer) if isinstance(piece, frames.Scored) for token in piece.tokens]


@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_scores_are_those_of_the_models_own_distribution(pocket: Loaded, count: int) -> None:
    session = pocket.service._session
    assert session is not None
    asked = prompt(user("remember this code: amber lantern seven."), user("what is the code?"))
    sampling = frames.Sampling(temperature=0.0, logprobs=count, presence_penalty=2.0)
    [first, *_] = _scored(pocket.ask(generate(asked, 30, sampling)))
    own = np.array(exactness.cold_distribution(session._engine, session._engine.embed(session.tokenize(asked))))[0]
    assert first.logprob == pytest.approx(float(own.max()), abs=1e-3)
    assert [each.logprob for each in first.top] == pytest.approx(sorted(own.tolist(), reverse=True)[:count], abs=1e-3)
    assert all(each.bytes == first.bytes for each in first.top[:1])


def test_scored_pieces_hold_the_text_and_every_text_token_once(pocket: Loaded) -> None:
    asked = prompt(user("remember this code: amber lantern seven."), user("what is the code?"))
    plain = pocket.ask(generate(asked))
    for stop in ((), ("zzz",), ("the code is amber lantern seven.!",)):
        answer = pocket.ask(generate(asked, sampling=frames.Sampling(temperature=0.0, logprobs=2, stop=stop)))
        text = "".join(piece.text for piece in pieces(answer) if isinstance(piece, frames.Scored))
        assert text + "<turn|>" == written(plain) == written(answer)
        assert b"".join(bytes(token.bytes) for token in _scored(answer)).decode() == text
    cut = pocket.ask(generate(asked, sampling=frames.Sampling(temperature=0.0, logprobs=0, stop=("tern",))))
    assert written(cut) == "the code is amber lan"
    assert b"".join(bytes(token.bytes) for token in _scored(cut)).decode().startswith("the code is amber lan")


def test_a_greedy_answer_is_the_same_with_and_without_scores(pocket: Loaded) -> None:
    asked = prompt(user("say something."))
    scored = pocket.ask(generate(asked, 20, frames.Sampling(temperature=0.0, logprobs=5)))
    assert written(scored) == written(pocket.ask(generate(asked, 20, GREEDY)))
