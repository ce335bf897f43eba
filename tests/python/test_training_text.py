"""What the built-in model learns from is what the server renders: every text task against the model's own template."""

import random
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker" / "pocket" / "train"))

from pocket_train import markup, talk, tools

_THOUGHT = re.compile(r"<\|channel>thought\n.*?\n<channel\|>")
_TASKS = [talk.recall, talk.secret, talk.small_talk, tools.tool_task]


class _Noted(markup.Script):
    """A script that also notes the messages a client would have sent."""

    def __init__(self, system: str = "", tools: Sequence[markup.Tool] = (), thinking: bool = False) -> None:
        super().__init__(system, tools, thinking)
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        self.declared = [
            {"function": {"name": each.name, "description": each.description, "parameters": each.parameters()}}
            for each in tools
        ]

    def user(self, *parts: Any) -> None:
        super().user(*parts)
        self.messages.append({"role": "user", "content": "".join(parts)})

    def says(self, text: str, thought: str = "", learned: bool = True) -> None:
        super().says(text, thought, learned)
        self.messages.append({"role": "assistant", "content": text})

    def calls(self, *calls: tuple[str, Mapping[str, Any]], thought: str = "") -> None:
        super().calls(*calls, thought=thought)
        made = [
            {"id": str(at), "function": {"name": name, "arguments": dict(arguments)}}
            for at, (name, arguments) in enumerate(calls)
        ]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": made})

    def result(self, name: str, value: str) -> None:
        super().result(name, value)
        answered = sum(message["role"] == "tool" for message in self.messages)
        self.messages.append({"role": "tool", "tool_call_id": str(answered), "content": value})


@pytest.fixture(scope="module")
def template(pocket_folder: Path) -> jinja2.Template:
    return jinja2.Environment().from_string((pocket_folder / "chat_template.jinja").read_text(encoding="utf-8"))  # noqa: S701 - makes no HTML


@pytest.mark.parametrize("task", _TASKS, ids=[task.__name__ for task in _TASKS])
def test_every_example_is_what_the_template_makes_of_its_messages(
    task: Callable[[random.Random], _Noted], template: jinja2.Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talk, "Script", _Noted)
    monkeypatch.setattr(tools, "Script", _Noted)
    draw = random.Random(3)
    for _ in range(200):
        script = task(draw)
        rendered = template.render(
            messages=script.messages,
            tools=script.declared,
            enable_thinking=script.thinking,
            bos_token="<bos>",  # noqa: S106
        )
        # Thoughts are shown to no template again; a call ends with what its answer begins with.
        ours = _THOUGHT.sub("", markup.written(script.parts)).removesuffix("<|tool_response>")
        assert ours == rendered


def test_an_earlier_thought_is_neither_shown_nor_learned_again() -> None:
    script = markup.Script(thinking=True)
    script.user("a")
    script.says("b", "first")
    script.user("c")
    script.says("d", "second")
    assert markup.written(script.parts).count("<|channel>") == 1
    [(_, learned)] = markup.learned(script.parts)
    assert learned == "<|channel>thought\nsecond\n<channel|>d<turn|>"


def test_what_is_learned_of_a_call_ends_where_the_tool_answers() -> None:
    script = markup.Script(tools=[markup.Tool("f", "does a thing", {"n": {"type": "integer"}}, ["n"])])
    script.user("go")
    script.calls(("f", {"n": 3, "A": True, "s": "x"}))
    script.result("f", "ok")
    script.says("done.")
    learned = [text for _, text in markup.learned(script.parts)]
    assert learned == ['<|tool_call>call:f{A:true,n:3,s:<|"|>x<|"|>}<tool_call|><|tool_response>', "done.<turn|>"]
