"""Tools and thinking through OpenAI's client for Python, with the built-in model, which knows how to call."""

import json

import openai
import pytest
from conftest import MODEL
from pydantic import BaseModel

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "get weather for a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
PING = {"type": "function", "function": {"name": "ping"}}
QUESTION = {"role": "user", "content": "what is the weather in tokyo?"}
ASKED = {"model": MODEL, "temperature": 0, "messages": [QUESTION], "tools": [WEATHER]}


class GetWeather(BaseModel):
    """get weather for a city"""

    city: str


def test_a_call_has_an_id_a_name_and_arguments_that_are_json(client: openai.OpenAI) -> None:
    choice = client.chat.completions.create(**ASKED).choices[0]
    (call,) = choice.message.tool_calls
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert (call.type, call.function.name, json.loads(call.function.arguments)) == (
        "function",
        "get_weather",
        {"city": "tokyo"},
    )
    assert call.id.isalnum()
    assert len(call.id) <= 40


def test_a_streamed_call_is_put_together_by_the_helper(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(**ASKED) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion().choices[0]
    assert [(event.name, event.index, event.arguments) for event in done] == [("get_weather", 0, '{"city":"tokyo"}')]
    assert final.finish_reason == "tool_calls"
    assert final.message.tool_calls[0].function.arguments == '{"city":"tokyo"}'


def test_a_round_with_a_result_is_answered_in_words(client: openai.OpenAI) -> None:
    call = client.chat.completions.create(**ASKED).choices[0].message
    result = {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "sunny"}
    messages = [QUESTION, call.model_dump(exclude_none=True), result]
    answer = client.chat.completions.create(**{**ASKED, "messages": messages})
    assert answer.choices[0].finish_reason in ("stop", "tool_calls")
    for marker in ("<|", "|>", "call:", "response:"):
        assert marker not in (answer.choices[0].message.content or "")
    parts = {**result, "content": [{"type": "text", "text": "sunny"}]}
    again = client.chat.completions.create(**{**ASKED, "messages": [*messages[:2], parts]})
    assert again.choices[0].message.content == answer.choices[0].message.content


def test_no_call_is_made_where_none_is_allowed(client: openai.OpenAI) -> None:
    choice = client.chat.completions.create(**ASKED, tool_choice="none").choices[0]
    assert choice.message.tool_calls is None
    assert choice.finish_reason in ("stop", "length")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "ping"}}])
def test_a_call_is_made_where_one_is_wanted(client: openai.OpenAI, choice: object) -> None:
    hello = [{"role": "user", "content": "hello."}]
    asked = {**ASKED, "messages": hello, "tools": [PING], "tool_choice": choice, "parallel_tool_calls": False}
    answer = client.chat.completions.create(**asked, max_tokens=64).choices[0]
    (call,) = answer.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("ping", {})
    assert answer.finish_reason == "tool_calls"


def test_tools_made_by_the_client_itself_are_understood(client: openai.OpenAI) -> None:
    tool = openai.pydantic_function_tool(GetWeather, name="get_weather")
    answer = client.chat.completions.parse(**{**ASKED, "tools": [tool]})
    for call in answer.choices[0].message.tool_calls or []:
        assert call.function.name == "get_weather"
        assert isinstance(call.function.parsed_arguments, GetWeather)


def test_a_choice_that_is_not_there_is_refused_by_name(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**ASKED, tool_choice={"type": "function", "function": {"name": "nope"}})
    assert refused.value.param == "tool_choice"


def test_thinking_that_is_asked_for_never_mixes_with_the_answer(client: openai.OpenAI) -> None:
    for more in ({"reasoning_effort": "high"}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": True}}}):
        answer = client.chat.completions.create(**{**ASKED, "tools": []}, **more, max_tokens=64)
        assert "<|channel>" not in (answer.choices[0].message.content or "")
        assert answer.usage.completion_tokens_details.reasoning_tokens >= 0
