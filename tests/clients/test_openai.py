"""OpenAI's client for Python against a running server with the built-in model."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import openai
import pytest
from conftest import ENDLESS_TOKENS, MODEL, POCKET, Server, counting

RECALL = [
    {"role": "user", "content": "remember this code: amber lantern seven."},
    {"role": "assistant", "content": "noted."},
    {"role": "user", "content": "what is the code?"},
]
HELLO = [{"role": "user", "content": "hello."}]
GREEDY = {"model": MODEL, "messages": RECALL, "temperature": 0}
ENDLESS = {"model": MODEL, "messages": HELLO, "max_tokens": ENDLESS_TOKENS, "stream": True}


def test_models_are_listed_with_their_window(client: openai.OpenAI) -> None:
    model, *others = client.models.list().data
    assert model.id == MODEL
    assert model.context_window >= 32768
    assert model.owned_by
    assert all(other.state == "unavailable" for other in others)


def test_a_whole_answer_recalls_the_code_words(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(**GREEDY)
    assert "amber lantern seven" in answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_a_stream_says_the_same_as_a_whole_answer_and_ends_with_its_counts(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(**GREEDY)
    *chunks, last = client.chat.completions.create(**GREEDY, stream=True, stream_options={"include_usage": True})
    assert len(chunks) > 3, "the answer came in one piece"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.choices == []
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    assert [getattr(last.usage, name) for name in counts] == [getattr(whole.usage, name) for name in counts]
    assert all(chunk.usage is None for chunk in chunks)


def test_the_stream_helper_puts_the_same_answer_together(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(**GREEDY) as stream:
        told = "".join(event.delta for event in stream if event.type == "content.delta")
        final = stream.get_final_completion()
    assert "amber lantern seven" in told
    assert final.choices[0].message.content == told
    assert final.choices[0].finish_reason == "stop"


def test_the_asynchronous_client_streams_the_same_answer(server: Server, client: openai.OpenAI) -> None:
    async def read() -> str:
        async with server.async_client() as asynchronous:
            stream = await asynchronous.chat.completions.create(**GREEDY, stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(read()) == client.chat.completions.create(**GREEDY).choices[0].message.content


def test_an_unknown_model_is_not_found_and_names_the_known_one(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match=MODEL) as caught:
        client.chat.completions.create(**{**GREEDY, "model": "gpt-none"})
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


@pytest.mark.parametrize(
    ("wrong", "code", "param"),
    [
        ({"max_tokens": 0}, "bad_request", "max_tokens"),
        ({"temperature": 9}, "bad_request", "temperature"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "bad_request", "messages[0].role"),
        ({"n": 2}, "unsupported_request", "n"),
        ({"max_tokens": 10_000_000}, "context_length_exceeded", "max_tokens"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_bad_request_names_its_field(
    client: openai.OpenAI, wrong: dict[str, object], code: str, param: str, stream: bool
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**GREEDY, "stream": stream, **wrong})
    assert (caught.value.code, caught.value.param) == (code, param)
    assert caught.value.request_id


def test_a_busy_worker_without_a_queue_is_a_conflict_told_once_when_retries_are_off(narrow: Server) -> None:
    client, asked = counting(narrow)
    with narrow.client().chat.completions.create(**ENDLESS) as running:
        next(running)
        with pytest.raises(openai.ConflictError) as caught:
            client.chat.completions.create(**GREEDY)
    assert caught.value.code == "worker_busy"
    assert int(caught.value.response.headers["retry-after"]) >= 1
    assert asked == ["/v1/chat/completions"]


def test_a_model_that_cannot_load_is_a_server_error_that_names_the_file(
    start: Callable[[dict[str, object]], Server], tmp_path: Path
) -> None:
    shutil.copytree(POCKET, tmp_path / "model", ignore=shutil.ignore_patterns("model.safetensors"))
    server = start({"model": {"id": "broken", "path": str(tmp_path / "model"), "sampling": {"temperature": 0}}})
    client, asked = counting(server)
    with pytest.raises(openai.InternalServerError, match=r"model\.safetensors") as caught:
        client.chat.completions.create(model="broken", messages=HELLO)
    assert (caught.value.status_code, caught.value.code) == (503, "worker_failed")
    assert asked == ["/v1/chat/completions"]


def test_a_stream_that_the_client_closes_frees_the_worker_and_keeps_it(
    start: Callable[[dict[str, object]], Server], endless: dict[str, object]
) -> None:
    server = start({"model": endless})
    client = server.client()
    client.chat.completions.create(**GREEDY, max_tokens=40)
    pid = server.stats()["worker"]["pid"]
    with client.chat.completions.create(**ENDLESS) as stream:
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
    answer = client.chat.completions.create(**GREEDY, max_tokens=40)
    assert "amber lantern seven" in answer.choices[0].message.content
    stats = server.stats()
    assert stats["worker"]["pid"] == pid
    assert stats["metrics"]["successful_requests"] == 2, "what was left did not run to its end"


def test_raw_responses_carry_the_headers_of_an_answer_and_of_a_stream(client: openai.OpenAI) -> None:
    whole = client.chat.completions.with_raw_response.create(**GREEDY)
    assert whole.headers["content-type"] == "application/json"
    assert whole.request_id
    assert "amber" in whole.parse().choices[0].message.content
    stream = client.chat.completions.with_raw_response.create(**GREEDY, stream=True)
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.headers["cache-control"] == "no-store"
    assert stream.request_id not in (None, whole.request_id)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in stream.parse())
    assert text == whole.parse().choices[0].message.content
