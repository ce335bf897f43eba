"""What else OpenAI's client for Python does for its users: objects, loops of tools, retries, time-outs, leaving."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Literal

import openai
import pytest
from conftest import ENDLESS_TOKENS, MODEL, PATIENCE_S, Server, counting
from pydantic import BaseModel
from test_tools import ASKED, GetWeather

HELLO = [{"role": "user", "content": "hello."}]
SHORT = {"model": MODEL, "messages": HELLO, "max_tokens": 4}
ENDLESS = {"model": MODEL, "messages": HELLO, "max_tokens": ENDLESS_TOKENS}
MOST_TURNS = 4


class Finding(BaseModel):
    """Something of a few kinds."""

    kind: Literal["lantern", "harbor"]
    count: Literal[1, 2, 3]
    is_new: bool


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    """Looks again and again until it is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def is_free(server: Server) -> bool:
    return server.stats()["worker"]["state"] == "ready"


@contextmanager
def busy(server: Server) -> Iterator[openai.Stream]:
    """A stream that runs on and on; left at the end."""
    with server.client().chat.completions.create(**ENDLESS, stream=True) as running:
        next(running)
        yield running
    wait_until("the worker is free", lambda: is_free(server))


def test_an_object_is_parsed_from_a_whole_answer_and_from_a_stream(client: openai.OpenAI) -> None:
    asked = {**SHORT, "max_tokens": 200, "response_format": Finding}
    whole = client.chat.completions.parse(**asked, seed=1).choices[0].message
    assert isinstance(whole.parsed, Finding)
    assert whole.parsed == Finding.model_validate_json(whole.content)
    with client.chat.completions.stream(**asked, seed=1) as stream:
        streamed = stream.get_final_completion().choices[0].message.parsed
    assert streamed == whole.parsed


def test_an_object_that_was_cut_off_is_told_as_such(client: openai.OpenAI) -> None:
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(**{**SHORT, "max_tokens": 2}, response_format=Finding)


def test_a_loop_of_tools_through_the_stream_helper_comes_to_its_end(client: openai.OpenAI) -> None:
    tool = openai.pydantic_function_tool(GetWeather, name="get_weather")
    messages = list(ASKED["messages"])
    asked: list[GetWeather] = []
    for turn in range(MOST_TURNS):
        # An agent that has had enough of calls says so.
        choice = "auto" if turn < MOST_TURNS - 1 else "none"
        more = {**ASKED, "messages": messages, "tools": [tool], "tool_choice": choice}
        with client.chat.completions.stream(**more) as stream:
            answer = stream.get_final_completion().choices[0]
        messages.append(answer.message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        if answer.finish_reason != "tool_calls":
            break
        for call in answer.message.tool_calls:
            assert isinstance(call.function.parsed_arguments, GetWeather)
            asked.append(call.function.parsed_arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
    assert answer.finish_reason == "stop"
    assert answer.message.content
    assert asked[0].city == "tokyo"


@pytest.mark.parametrize(
    ("more", "kind"),
    [({}, openai.ConflictError), ({"X-Hangar-Overflow": "429"}, openai.RateLimitError)],
)
def test_a_busy_worker_is_a_conflict_or_where_it_is_asked_for_a_rate_limit(
    narrow: Server, more: dict[str, str], kind: type[openai.APIStatusError]
) -> None:
    narrow.client().chat.completions.create(**SHORT)
    with busy(narrow), pytest.raises(kind) as caught:
        narrow.client(default_headers=more).chat.completions.create(**SHORT)
    assert caught.value.code == ("queue_full" if more else "worker_busy")


def test_a_retry_waits_as_long_as_it_is_told_to_and_then_succeeds(narrow: Server) -> None:
    narrow.client().chat.completions.create(**SHORT)
    client, asked = counting(narrow, max_retries=2)
    told: list[float] = []
    with busy(narrow) as running:
        try:
            narrow.client().chat.completions.create(**SHORT)
        except openai.ConflictError as error:
            told.append(float(error.response.headers["retry-after"]))
        leaving = Timer(told[0] / 2, running.close)
        leaving.start()
        began = time.monotonic()
        answer = client.chat.completions.create(**SHORT)
        took = time.monotonic() - began
        leaving.join()
    assert answer.usage.completion_tokens > 0
    assert len(asked) == 2
    assert took >= told[0]


def test_what_is_wrong_with_a_request_is_never_tried_again(server: Server) -> None:
    client, asked = counting(server, max_retries=3)
    long = [{"role": "user", "content": "the code is " * 40_000}]
    with pytest.raises(openai.BadRequestError, match="maximum context length is 65536 tokens") as caught:
        client.chat.completions.create(**{**SHORT, "messages": long})
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.NotFoundError):
        client.responses.create(model=MODEL, input="hello.")
    assert asked == ["/v1/chat/completions", "/v1/responses"]


def test_a_time_out_of_the_client_frees_the_worker(narrow: Server) -> None:
    narrow.client().chat.completions.create(**SHORT)
    pid = narrow.stats()["worker"]["pid"]
    with pytest.raises(openai.APITimeoutError):
        narrow.client(timeout=1).chat.completions.create(**ENDLESS)
    wait_until("the worker is free", lambda: is_free(narrow))
    assert narrow.stats()["worker"]["pid"] == pid


def test_a_task_that_is_cancelled_in_a_stream_frees_the_worker(narrow: Server) -> None:
    narrow.client().chat.completions.create(**SHORT)

    async def read(begun: asyncio.Event) -> None:
        async with narrow.async_client() as client:
            async for _ in await client.chat.completions.create(**ENDLESS, stream=True):
                begun.set()

    async def leave() -> None:
        begun = asyncio.Event()
        reading = asyncio.create_task(read(begun))
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(leave())
    wait_until("the worker is free", lambda: is_free(narrow))
    assert narrow.client().chat.completions.create(**SHORT).usage.completion_tokens > 0


def test_many_at_once_are_answered_each_with_its_own(server: Server) -> None:
    async def ask(client: openai.AsyncOpenAI, city: str) -> str:
        asked = {**ASKED, "messages": [{"role": "user", "content": f"what is the weather in {city}?"}]}
        answer = await client.chat.completions.create(**asked)
        return json.loads(answer.choices[0].message.tool_calls[0].function.arguments)["city"]

    async def all_of(cities: list[str]) -> list[str]:
        async with server.async_client() as client:
            return await asyncio.gather(*(ask(client, city) for city in cities))

    cities = ["tokyo", "paris", "cairo", "tokyo"]
    assert asyncio.run(all_of(cities)) == cities


def test_every_answer_has_an_id_of_its_request_and_the_clients_own_is_kept(client: openai.OpenAI) -> None:
    own = {"X-Request-Id": "mine-1"}
    raw = client.chat.completions.with_raw_response.create(**SHORT, extra_headers=own)
    assert raw.headers["x-request-id"] == "mine-1"
    assert raw.parse().usage.completion_tokens > 0
    with client.chat.completions.with_streaming_response.create(**SHORT, stream=True) as streamed:
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert streamed.headers["x-request-id"]
        lines = [line for line in streamed.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"


def test_scores_of_tokens_spell_the_answer_and_are_the_same_in_a_stream(client: openai.OpenAI) -> None:
    asked = {**ASKED, "messages": HELLO, "tools": [], "max_tokens": 12, "logprobs": True, "top_logprobs": 3}
    choice = client.chat.completions.create(**asked).choices[0]
    scored = choice.logprobs.content
    assert b"".join(bytes(token.bytes) for token in scored).decode() == choice.message.content
    for token in scored:
        first, *others = token.top_logprobs
        # The likeliest was taken.
        assert (first.token, first.logprob) == (token.token, token.logprob)
        assert len(others) == 2
        assert sum(math.exp(each.logprob) for each in token.top_logprobs) <= 1.0001
    chunks = list(client.chat.completions.create(**asked, stream=True))
    streamed = [token for chunk in chunks if (found := chunk.choices[0].logprobs) for token in found.content]
    assert [token.token for token in streamed] == [token.token for token in scored]
    assert [token.logprob for token in streamed] == pytest.approx([token.logprob for token in scored], abs=1e-3)
    assert client.chat.completions.create(**SHORT).choices[0].logprobs is None
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**asked, "top_logprobs": 21})
    assert caught.value.param == "top_logprobs"
