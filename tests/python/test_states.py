"""States under a number: a prompt goes on from one, exactly, and nothing but the prompt itself is read."""

import gc
import random
from collections.abc import Sequence

import mlx.core as mx
import numpy as np
import pytest
from conftest import Loaded
from conversation import GREEDY, failed, finished, group, samples, user, words, written
from test_reuse import LIMIT, break_chunks, session_of, told

from hangar_worker import exactness, frames
from hangar_worker.cache.store import StateStore
from hangar_worker.faults import ContextLengthExceeded, Engine, StateUnknown

HEADER = group("<|turn>model\n")
CLOSED = group("<turn|>\n")


def ask(  # noqa: PLR0917 - the fields of the command
    worker: Loaded,
    groups: Sequence[frames.Group],
    base: int | None,
    keep: int | None,
    max_tokens: int = 30,
    media: Sequence[frames.Media] = (),
) -> list[frames.FromWorker]:
    asked = frames.Prompt((*groups, HEADER), tuple(media))
    return worker.ask(frames.Generate(1, asked, GREEDY, max_tokens, base, keep))


def begun(worker: Loaded, keep: int, text: str = "remember this code: amber lantern seven.") -> list[frames.FromWorker]:
    return ask(worker, [group("<bos>"), user(text)], None, keep)


def kept(answer: Sequence[frames.FromWorker]) -> frames.Kept:
    said = finished(answer).kept
    assert said is not None
    return said


def off_by(worker: Loaded, groups: Sequence[frames.Group], base: int, media: Sequence[frames.Media] = ()) -> float:
    """How far the distribution after a state and these groups is from that of all ids in one cold pass."""
    session = session_of(worker)
    engine = session._engine
    tokens = session.tokenize(frames.Prompt((*groups, HEADER), tuple(media)), base=base)
    reuse = session._states.reuse(tokens)
    cache = engine.new_cache()
    reuse.restore(cache)
    warm = engine.prefill(engine.embed(tokens, reuse.cached_tokens), cache)
    reuse.end()
    # Media of earlier turns are in the state only, so a cold pass is possible for text.
    cold = exactness.cold_distribution(engine, engine.embed(tokens))
    return exactness.difference(cold, exactness.log_probabilities(warm))


@pytest.fixture(params=[1 << 30, 0], ids=["with others kept", "alone"])
def worker(pocket: Loaded, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Loaded:
    session = session_of(pocket)
    monkeypatch.setattr(session, "_states", StateStore(request.param, session._model.end_tokens))
    return pocket


def test_a_turn_reads_only_itself_and_knows_what_was_said_before(worker: Loaded) -> None:
    first = begun(worker, 1)
    size = kept(first)
    assert size.context_tokens == finished(first).tokens.prompt_tokens + finished(first).tokens.completion_tokens
    assert size.bytes > 0
    second = ask(worker, [CLOSED, user("what is the code?")], 1, 2)
    assert written(second) == "the code is amber lantern seven.<turn|>"
    # The end of the first answer may not have been read when it was over.
    assert finished(second).tokens.cached_tokens >= size.context_tokens - 1
    assert off_by(worker, [CLOSED, user("and now?")], 2) < LIMIT


def test_the_end_of_an_answer_is_written_once_and_never_left_out(worker: Loaded) -> None:
    session = session_of(worker)
    begun(worker, 1)
    end = session._model.vocabulary.control("<turn|>")

    def border(base: int) -> list[int]:
        before = session._states.context(base).ids
        after = session.tokenize(frames.Prompt((CLOSED, user("so?")), ()), base=base).ids
        return [before[-1], *after[len(before) :]][:3]

    line = session._model.vocabulary.encode_text("\n")
    assert border(1)[:2] == [end, *line]
    cut = begun_cut(worker, 2)
    assert finished(cut).reason == "length"
    assert border(2)[1:] == [end, *line]


def begun_cut(worker: Loaded, keep: int) -> list[frames.FromWorker]:
    return ask(worker, [group("<bos>"), user("what is the code?")], None, keep, max_tokens=2)


def test_an_answer_that_was_cut_goes_on_exactly(worker: Loaded) -> None:
    begun_cut(worker, 1)
    assert off_by(worker, [CLOSED, user("go on")], 1) < LIMIT


def test_many_turns_stay_exact_while_windows_rotate(worker: Loaded) -> None:
    chance = random.Random(3)
    begun(worker, 1)
    for turn in range(1, 12):
        groups = [CLOSED, user(told(chance, chance.randrange(1, 60)))]
        assert off_by(worker, groups, turn) < LIMIT
        ask(worker, groups, turn, turn + 1, max_tokens=chance.choice([1, 2, 25]))


def test_two_that_go_on_from_one_state_do_not_know_of_each_other(worker: Loaded) -> None:
    begun(worker, 1, "hello.")
    ask(worker, [CLOSED, user("remember this code: violet harbor two.")], 1, 2)
    ask(worker, [CLOSED, user("remember this code: cobalt window four.")], 1, 3)
    for state, code in ((2, "violet harbor two"), (3, "cobalt window four"), (2, "violet harbor two")):
        answer = written(ask(worker, [CLOSED, user("what is the code?")], state, None))
        assert answer == f"the code is {code}.<turn|>"


def test_a_turn_that_is_cancelled_or_fails_leaves_everything_as_it_was(
    worker: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(worker, 1)
    before = session_of(worker)._states.context(1)
    looks = 0

    def stop() -> bool:
        nonlocal looks
        looks += 1
        return looks > limit

    for limit in (0, 3, 6, 9):
        looks = 0
        worker.pipe.cancel_when = stop
        answer = ask(
            worker, [CLOSED, user("remember this code: violet harbor two. ", told(random.Random(limit), 90))], 1, 2
        )
        assert (finished(answer).reason, finished(answer).kept) == ("cancelled", None)
        worker.pipe.reset()
        assert failed(ask(worker, [CLOSED, user("so?")], 2, 3)) == StateUnknown(2)
    with monkeypatch.context() as patch:
        break_chunks(patch, session_of(worker))
        assert failed(ask(worker, [CLOSED, user("so?")], 1, 2)) == Engine("RuntimeError")
    assert session_of(worker)._states.context(1) == before
    assert written(ask(worker, [CLOSED, user("what is the code?")], 1, 2)) == "the code is amber lantern seven.<turn|>"


def test_sound_stays_in_a_state_and_is_not_sent_again(worker: Loaded) -> None:
    noise = samples(np.random.default_rng(2).uniform(-0.3, 0.3, 20_000))
    first = ask(worker, [group("<bos>"), user("what do you hear? ", frames.Audio(0))], None, 1, media=[noise])
    heard = kept(first).context_tokens
    second = ask(worker, [CLOSED, user("what is the code?")], 1, 2)
    assert finished(second).tokens.cached_tokens >= heard - 1


def test_a_state_that_is_not_kept_is_named(worker: Loaded) -> None:
    begun(worker, 1)
    assert failed(ask(worker, [CLOSED, user("so?")], 9, 10)) == StateUnknown(9)
    worker.service.handle(frames.Forget((1, 9)))
    assert failed(ask(worker, [CLOSED, user("so?")], 1, 2)) == StateUnknown(1)


def test_the_window_holds_the_whole_context(worker: Loaded) -> None:
    begun(worker, 1)
    before = len(session_of(worker)._states.context(1).ids)
    answer = ask(worker, [CLOSED, *words(1).groups[1:-1]], 1, 2, max_tokens=4096 - before)
    fault = failed(answer)
    assert isinstance(fault, ContextLengthExceeded)
    assert fault.prompt_tokens > before


def test_forgetting_gives_every_byte_back(worker: Loaded) -> None:
    session = session_of(worker)
    ask(worker, [group("<bos>"), user("hello")], None, None)
    session.forget([])
    gc.collect()
    before, kept_before = mx.get_active_memory(), session._states.bytes
    begun(worker, 1, "notes: " + told(random.Random(1), 300))
    ask(worker, [CLOSED, user(told(random.Random(2), 200))], 1, 2)
    assert mx.get_active_memory() - before > 100_000
    worker.service.handle(frames.Forget((1, 2)))
    gc.collect()
    assert session._states.bytes <= kept_before + 10_000
    assert mx.get_active_memory() - before < 20_000
    assert mx.get_cache_memory() == 0
