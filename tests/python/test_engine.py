"""The engine: chunking, sampling, limits, cancelling."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import pytest
from conftest import Loaded
from conversation import GREEDY, failed, finished, generate, group, pieces, prompt, user, words, written
from memory_pipe import MemoryPipe

from hangar_worker import chunks, exactness, frames
from hangar_worker.engine import Embedded
from hangar_worker.faults import ContextLengthExceeded, Engine, OutOfMemory, PromptInvalid
from hangar_worker.service import Service


def _warm(temperature: float = 1.0, top_p: float = 1.0, number: int | None = 7) -> frames.Sampling:
    return frames.Sampling(temperature=temperature, top_p=top_p, seed=number)


@pytest.mark.parametrize("chunk", [1, 7, 40, 128, 100_000])
def test_every_chunk_size_gives_the_same_distribution(pocket: Loaded, chunk: int) -> None:
    session = pocket.service._session
    assert session is not None
    engine = session._engine
    embedded = engine.embed(session.tokenize(words(90)))
    cold = exactness.cold_distribution(engine, embedded)
    chunked = engine.prefill(embedded, engine.new_cache(), chunk_tokens=chunk)
    assert exactness.difference(cold, exactness.log_probabilities(chunked)) < 5e-5


def test_a_probe_tries_every_border_and_counts_what_it_does(pocket: Loaded) -> None:
    asked = prompt(user("remember this code: amber lantern seven."), user("hello."), user("what is the code?"))
    [answer] = pocket.ask(frames.Probe(5, asked))
    assert isinstance(answer, frames.Probed)
    assert answer.report.borders == 4
    assert answer.report.worst_abs_logprob < 1e-4
    probing = [
        (done, total) for phase, request, done, total in pocket.pipe.phases if (phase, request) == ("probing", 5)
    ]
    assert probing[0][0] == 0
    assert probing[-1] == (5 * answer.report.prompt_tokens, 5 * answer.report.prompt_tokens)


def test_a_cancelled_probe_ends_at_its_next_pass_and_the_next_request_works(pocket: Loaded) -> None:
    asked = prompt(user("remember this code: amber lantern seven."), user("hello."))
    looks = 0
    cancel_at = 1000

    def look() -> bool:
        nonlocal looks
        looks += 1
        return looks >= cancel_at

    pocket.pipe.cancel_when = look
    assert isinstance(pocket.ask(frames.Probe(6, asked))[0], frames.Probed)
    for cancel_at in (1, looks // 2, looks - 1):
        looks = 0
        end = finished(pocket.ask(frames.Probe(7, asked)))
        assert (end.reason, end.request, looks) == ("cancelled", 7, cancel_at)
    cancel_at = 1000
    assert isinstance(pocket.ask(frames.Probe(8, asked))[0], frames.Probed)


def test_a_probe_sees_a_warm_run_that_is_wrong(pocket: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    session = pocket.service._session
    assert session is not None
    right = session._engine._chunk

    def shifted(prompt: Embedded, cache: list[Any], first: int, last: int) -> mx.array:
        assert prompt.per_layer is not None
        wrong = dataclasses.replace(prompt, per_layer=mx.roll(prompt.per_layer, 1, axis=1)) if first else prompt
        return right(wrong, cache, first, last)

    monkeypatch.setattr(session._engine, "_chunk", shifted)
    [answer] = pocket.ask(frames.Probe(5, prompt(user("hello."), user("what is the code?"))))
    assert isinstance(answer, frames.Probed)
    assert answer.report.worst_abs_logprob > 0.01


def test_a_probe_without_a_border_is_refused(pocket: Loaded) -> None:
    assert isinstance(failed(pocket.ask(frames.Probe(5, frames.Prompt((group("hello"),), ())))), PromptInvalid)


def test_an_answer_is_accepted_then_given_piece_by_piece_then_finished(pocket: Loaded) -> None:
    answer = pocket.ask(generate(prompt(user("hello.")), request=9))
    accepted = answer[0]
    assert isinstance(accepted, frames.Accepted)
    assert all(isinstance(frame, frames.Pieces) for frame in answer[1:-1])
    end = finished(answer)
    assert end.reason == "stop"
    assert end.tokens == frames.TokenUse(accepted.prompt_tokens, accepted.cached_tokens, len(pieces(answer)))
    assert pieces(answer)[-1] == frames.Control("<turn|>")
    assert end.timings.prefill_ms > 0
    assert end.memory.peak_bytes >= end.memory.active_bytes > 0
    assert {frame.request for frame in answer if isinstance(frame, frames.Pieces | frames.Finished)} == {9}


def test_each_frame_of_pieces_tells_how_many_tokens_were_made(pocket: Loaded) -> None:
    # A constant of four bytes that are no tokens of their own but in bytes.
    answer = pocket.ask(
        generate(prompt(user("hello.")), 60, frames.Sampling(grammar=frames.JsonSchema('{"const": "🧪"}')))
    )
    told = [frame for frame in answer if isinstance(frame, frames.Pieces)]
    made = [frame.made_tokens for frame in told]
    assert made == sorted(set(made))
    assert made[-1] == finished(answer).tokens.completion_tokens
    before = [0, *made]
    [steps] = [made[at] - before[at] for at, frame in enumerate(told) if frame.pieces == (frames.Text("🧪"),)]
    assert steps == 4


def test_prefill_and_decode_are_counted_for_the_beat(pocket: Loaded) -> None:
    tokens = finished(pocket.ask(generate(words(200), 3, request=4))).tokens.prompt_tokens
    prefill = [
        done for phase, request, done, total in pocket.pipe.phases if (phase, request, total) == ("prefill", 4, tokens)
    ]
    assert prefill == sorted(prefill)
    assert len(set(prefill)) == len(chunks.plan(0, tokens, 64, ())) >= tokens // 64
    assert max(pocket.pipe.steps) == 64
    assert ("decode", 4, 1, 3) in pocket.pipe.phases
    assert pocket.pipe.phases[-1] == ("idle", None, 0, 0)


def test_max_tokens_ends_an_answer_with_length(pocket: Loaded) -> None:
    end = finished(pocket.ask(generate(prompt(user("hello.")), 2)))
    assert (end.reason, end.tokens.completion_tokens) == ("length", 2)


def test_the_window_holds_prompt_and_answer_together(pocket: Loaded) -> None:
    asked = prompt(user("hello."))
    tokens = finished(pocket.ask(generate(asked, 1))).tokens.prompt_tokens
    assert finished(pocket.ask(generate(asked, 4096 - tokens)))
    fault = failed(pocket.ask(generate(asked, 4096 - tokens + 1)))
    assert fault == ContextLengthExceeded(tokens, 4096 - tokens + 1, 4096)
    assert isinstance(failed(pocket.ask(generate(words(5000), 1))), ContextLengthExceeded)


@pytest.mark.parametrize(
    "asked",
    [
        generate(prompt(user("hi")), 0),
        generate(frames.Prompt((), ())),
    ],
    ids=["no tokens", "no prompt"],
)
def test_what_cannot_be_answered_is_refused_and_the_next_request_works(pocket: Loaded, asked: frames.Generate) -> None:
    assert isinstance(failed(pocket.ask(asked)), PromptInvalid)
    assert finished(pocket.ask(generate(prompt(user("hello."))))).reason == "stop"


def test_the_same_seed_gives_the_same_text_and_another_seed_another(pocket: Loaded) -> None:
    asked = prompt(user("say something."))
    texts = {
        number: {written(pocket.ask(generate(asked, 20, _warm(3.0, 1.0, number)))) for _ in range(2)}
        for number in range(4)
    }
    assert all(len(same) == 1 for same in texts.values())
    assert len(set.union(*texts.values())) > 1


def test_no_seed_draws_a_new_one_each_time(pocket: Loaded) -> None:
    asked = prompt(user("say something."))
    assert len({written(pocket.ask(generate(asked, 12, _warm(3.0, 1.0, None)))) for _ in range(5)}) > 1


def test_a_small_nucleus_leaves_only_the_likeliest_token(pocket: Loaded) -> None:
    asked = prompt(user("say something."))
    greedy = written(pocket.ask(generate(asked, 12, GREEDY)))
    assert written(pocket.ask(generate(asked, 12, _warm(1.0, 0.0)))) == greedy
    assert written(pocket.ask(generate(asked, 12, _warm(1.0, 1e-6)))) == greedy


def test_a_request_cancelled_before_prefill_ends_without_a_token(pocket: Loaded) -> None:
    pocket.pipe.cancel_when = lambda: True
    end = finished(pocket.ask(generate(words(400))))
    assert (end.reason, end.tokens.completion_tokens) == ("cancelled", 0)


def test_prefill_stops_at_the_next_chunk(pocket: Loaded) -> None:
    def prefilled() -> int:
        return max((done for phase, _, done, _ in pocket.pipe.phases if phase == "prefill"), default=0)

    pocket.pipe.cancel_when = lambda: prefilled() >= 128
    end = finished(pocket.ask(generate(words(900))))
    assert (end.reason, end.tokens.completion_tokens) == ("cancelled", 0)
    assert 128 <= prefilled() < 128 + 64


def test_decode_stops_at_the_next_token_and_the_next_request_is_untouched(pocket: Loaded) -> None:
    asked = prompt(user("remember this code: amber lantern seven."), user("what is the code?"))
    whole = written(pocket.ask(generate(asked)))
    pocket.pipe.cancel_when = lambda: len(pieces(pocket.pipe.sent)) >= 3
    stopped = pocket.ask(generate(asked))
    assert finished(stopped).reason == "cancelled"
    assert finished(stopped).tokens.completion_tokens == 3
    assert whole.startswith(written(stopped))
    pocket.pipe.reset()
    assert written(pocket.ask(generate(asked))) == whole


def test_an_exception_becomes_a_fault_without_its_text_and_the_worker_lives_on(
    pocket: Loaded, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    session = pocket.service._session
    assert session is not None

    def broken(*_: object, **__: object) -> Iterator[int]:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(session._engine, "decode", broken)
        error: Exception = RuntimeError("some text")
        assert failed(pocket.ask(generate(prompt(user("hi"))))) == Engine("RuntimeError")
        error = RuntimeError("[malloc] Unable to allocate 100 bytes")
        assert failed(pocket.ask(generate(prompt(user("hi"))))) == OutOfMemory("generating")
    assert finished(pocket.ask(generate(prompt(user("hello."))))).reason == "stop"
    logged = capfd.readouterr().err
    assert "RuntimeError" in logged
    assert "some text" not in logged


def test_log_lines_hold_figures_and_never_the_prompt(pocket: Loaded, capfd: pytest.CaptureFixture[str]) -> None:
    pocket.ask(generate(prompt(user("remember this code: violet harbor two."))))
    pocket.ask(generate(frames.Prompt((frames.Group((frames.Control("harbor"),)),), ())))
    logged = capfd.readouterr()
    assert '"event": "finished"' in logged.err
    assert "harbor" not in logged.err
    assert logged.out == ""


def test_a_request_before_any_model_is_a_fault() -> None:
    pipe = MemoryPipe(generate(prompt(user("hi"))), frames.Shutdown())
    Service(pipe, frames.Verified()).run()
    assert failed(pipe.sent) == Engine("no model is loaded")


def test_memory_is_given_back_after_a_long_prompt(pocket: Loaded) -> None:
    session = pocket.service._session
    assert session is not None
    before, kept = mx.get_active_memory(), session._states.bytes
    pocket.ask(generate(words(1500), 2))
    grown = mx.get_active_memory() - before
    assert grown - (session._states.bytes - kept) < 200_000
