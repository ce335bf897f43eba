"""State that is kept and taken up again: the same numbers as without it, whatever happened before."""

import gc
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from conftest import Loaded
from conversation import failed, finished, generate, group, model, pieces, pixels, prompt, samples, user, written

from hangar_worker import exactness, frames, miniature
from hangar_worker.cache.store import StateStore
from hangar_worker.session import Session

LIMIT = 1e-4
WORDS = ("amber", "lantern", "seven", "window", "cobalt", "harbor", "two", "violet")


def session_of(worker: Loaded) -> Session:
    session = worker.service._session
    assert session is not None
    return session


def off_by(session: Session, asked: frames.Prompt) -> tuple[float, int]:
    """How far the distribution after kept state is from a cold one, and how many tokens were kept."""
    tokens = session.tokenize(asked)
    engine = session._engine
    cold = exactness.cold_distribution(engine, engine.embed(tokens))
    reuse = session._states.reuse(tokens)
    cache = engine.new_cache()
    reuse.restore(cache)
    warm = engine.prefill(engine.embed(tokens, reuse.cached_tokens), cache)
    reuse.end()
    return exactness.difference(cold, exactness.log_probabilities(warm)), reuse.cached_tokens


def cached(answer: Sequence[frames.FromWorker]) -> int:
    return finished(answer).tokens.cached_tokens


def size(worker: Loaded, asked: frames.Prompt) -> int:
    return len(session_of(worker).tokenize(asked).ids)


def break_chunks(patch: pytest.MonkeyPatch, session: Session) -> None:
    """Layers are written, and the answer never comes."""
    right = session._engine._chunk

    def broken(*arguments: object) -> mx.array:
        right(*arguments)  # type: ignore[arg-type]
        raise RuntimeError

    patch.setattr(session._engine, "_chunk", broken)


def told(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


def test_a_conversation_that_grows_reads_only_what_is_new(pocket: Loaded) -> None:
    turns = [user("remember this code: olive anchor nine.")]
    first = pocket.ask(generate(prompt(*turns)))
    assert cached(first) <= 1
    turns += [model(written(first).removesuffix("<turn|>")), user("what is the code?")]
    second = pocket.ask(generate(prompt(*turns)))
    # Everything up to the end of the first answer.
    assert cached(second) >= finished(first).tokens.prompt_tokens + finished(first).tokens.completion_tokens - 1
    assert written(second) == "the code is olive anchor nine.<turn|>"
    assert off_by(session_of(pocket), prompt(*turns))[0] < LIMIT


def test_a_last_message_that_comes_and_goes_costs_only_itself(pocket: Loaded) -> None:
    chance = random.Random(4)
    history = [user("rules: ", told(chance, 60)), user("task: ", told(chance, 20))]
    trailer = user("for this step only")
    for step in range(4):
        answer = pocket.ask(generate(prompt(*history, trailer), 8))
        if step:
            assert cached(answer) == size(pocket, prompt(*history[:-2], trailer)) - size(
                pocket, frames.Prompt((trailer, group("<|turn>model\n")), ())
            )
        assert off_by(session_of(pocket), prompt(*history, trailer))[0] < LIMIT
        history += [model("step " + told(chance, 5)), user("result " + told(chance, 9))]


def test_two_conversations_with_the_same_beginning_share_it_and_nothing_else(pocket: Loaded) -> None:
    rules = user("rules: ", told(random.Random(5), 70))
    ours = prompt(rules, user("remember this code: cobalt harbor two."), user("what is the code?"))
    theirs = prompt(rules, user("remember this code: violet window seven."), user("what is the code?"))
    pocket.ask(generate(ours))
    shared = cached(pocket.ask(generate(theirs)))
    assert shared == size(pocket, frames.Prompt((group("<bos>"), rules), ()))
    assert "cobalt" not in written(pocket.ask(generate(theirs)))
    assert off_by(session_of(pocket), theirs)[0] < LIMIT
    assert off_by(session_of(pocket), ours)[0] < LIMIT


def test_media_are_the_same_only_when_their_content_is(pocket: Loaded) -> None:
    chance = np.random.default_rng(8)
    rules = user("look and listen")
    one, other = (chance.integers(0, 255, (40, 70, 3)) for _ in range(2))
    heard, changed = chance.uniform(-0.3, 0.3, 9000), chance.uniform(-0.3, 0.3, 9000)

    def asked(picture: np.ndarray, clip: np.ndarray) -> frames.Prompt:
        media = (pixels(picture), samples(clip))
        return prompt(rules, user(frames.Image(0)), user(frames.Audio(1), " what?"), media=media)

    full = asked(one, heard)
    pocket.ask(generate(full, 2))
    before_media = size(pocket, frames.Prompt((group("<bos>"), rules), ()))
    whole = size(pocket, full)
    assert cached(pocket.ask(generate(asked(other, heard), 2))) == before_media
    assert before_media < cached(pocket.ask(generate(asked(one, changed), 2))) < whole - 14
    assert cached(pocket.ask(generate(full, 2))) > whole - 14
    for each in (full, asked(other, heard), asked(one, changed)):
        assert off_by(session_of(pocket), each)[0] < LIMIT


def test_a_prompt_that_was_cancelled_while_it_was_read_goes_on_where_it_was_left(pocket: Loaded) -> None:
    asked = prompt(user("notes: ", told(random.Random(6), 300)), user("so?"))
    pocket.pipe.cancel_when = lambda: max((done for _, _, done, _ in pocket.pipe.phases), default=0) >= 200
    assert finished(pocket.ask(generate(asked))).reason == "cancelled"
    pocket.pipe.reset()
    assert cached(pocket.ask(generate(asked, 2))) >= 200
    assert off_by(session_of(pocket), asked)[0] < LIMIT


def test_a_failed_request_leaves_what_is_kept_as_it_was(pocket: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = prompt(user("remember this code: violet harbor two."), user("what is the code?"))
    whole = written(pocket.ask(generate(asked)))
    with monkeypatch.context() as patch:
        break_chunks(patch, session_of(pocket))
        assert failed(pocket.ask(generate(prompt(*asked.groups[1:-1], user("more")))))
    assert off_by(session_of(pocket), asked)[0] < LIMIT
    assert written(pocket.ask(generate(asked))) == whole


@pytest.mark.parametrize("shape", [None, *miniature.FAMILY], ids=lambda shape: shape.name if shape else "pocket")
def test_random_histories_give_the_numbers_of_a_cold_prefill(
    shape: miniature.Shape | None, pocket_folder: Path, miniature_folder: Callable[..., Path]
) -> None:
    worker = Loaded(pocket_folder if shape is None else miniature_folder(shape), chunk=23)
    session = session_of(worker)
    chance, noise = random.Random(11), np.random.default_rng(12)
    media: list[frames.Media] = [pixels(noise.integers(0, 255, (30 + 20 * at, 60, 3))) for at in range(2)]
    hears = session.facts.audio
    if hears:
        media += [samples(noise.uniform(-0.3, 0.3, 3000 + 4000 * at)) for at in range(2)]

    def part() -> frames.Segment | str:
        kind = chance.random()
        if kind < 0.2:
            return frames.Image(chance.randrange(2))
        if kind < 0.4 and hears:
            return frames.Audio(2 + chance.randrange(2))
        return told(chance, chance.randrange(1, 40))

    histories: list[list[frames.Group]] = [[]]
    hits = 0
    for _ in range(25):
        turns = list(chance.choice(histories))
        if turns and chance.random() < 0.3:
            del turns[chance.randrange(len(turns)) :]
        turns.append(user(*(part() for _ in range(chance.randrange(1, 4)))))
        asked = prompt(*turns, media=media)
        limit = chance.choice([0, 0, 0, 1, 3, 9])
        if limit:
            looks = 0

            def stop(limit: int = limit) -> bool:
                nonlocal looks
                looks += 1
                return looks > 2 + 2 * limit

            worker.pipe.cancel_when = stop
        answer = worker.ask(generate(asked, chance.choice([1, 2, 20])))
        worker.pipe.reset()
        off, kept = off_by(session, asked)
        assert off < LIMIT, f"{len(turns)} turns, {kept} tokens kept"
        hits += kept > 1
        turns.append(model("".join(piece.text for piece in pieces(answer) if isinstance(piece, frames.Text))))
        histories.append(turns)
    assert hits >= 20


def test_what_is_kept_stays_within_its_budget_and_the_least_used_goes_first(pocket: Loaded) -> None:
    session = session_of(pocket)
    asked = [prompt(user(f"notes {at}: ", told(random.Random(at), 150)), user("so?")) for at in range(6)]
    with pytest.MonkeyPatch.context() as patch:
        store = StateStore(1 << 30)
        patch.setattr(session, "_states", store)
        pocket.ask(generate(asked[0], 1))
        store._tree.budget_bytes = 3 * store.bytes
        for each in (asked[1], asked[0], *asked[2:5]):
            pocket.ask(generate(each, 1))
            assert store.bytes <= store._tree.budget_bytes
            assert store.bytes == sum(node.state_bytes for node in store._tree)
        assert cached(pocket.ask(generate(asked[4], 1))) > 100
        assert cached(pocket.ask(generate(asked[1], 1))) <= 1


def test_kept_bytes_are_those_that_mlx_counts_and_all_of_them_come_back(pocket: Loaded) -> None:
    session = session_of(pocket)
    with pytest.MonkeyPatch.context() as patch:
        pocket.ask(generate(prompt(user("hello.")), 1))
        gc.collect()
        store = StateStore(1 << 30)
        patch.setattr(session, "_states", store)
        gc.collect()
        # A buffer out of the allocator's pool may be some pages larger than what is put into it.
        limit = mx.set_cache_limit(0)
        before = mx.get_active_memory()
        for at in range(8):
            pocket.ask(generate(prompt(user(told(random.Random(at), 200)), user("so?")), 5))
        gc.collect()
        grown = mx.get_active_memory() - before
        mx.set_cache_limit(limit)
        assert abs(grown - store.bytes) < 0.05 * store.bytes
        store._tree.budget_bytes = 1
        store._tree.trim()
        gc.collect()
        assert store.bytes == 0
        assert mx.get_active_memory() - before < 0.02 * grown


def test_without_a_budget_nothing_is_kept(pocket: Loaded) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_of(pocket), "_states", StateStore(0))
        asked = prompt(user("hello."), user("hello again."))
        assert [cached(pocket.ask(generate(asked, 2))) for _ in range(2)] == [0, 0]
