"""Conversations of the training data in the markup that the server renders, with what the model has to learn marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Value = str | int | float | bool
"""An argument of a call."""


@dataclass(frozen=True)
class Words:
    """Literal text."""

    text: str
    learned: bool = False


@dataclass(frozen=True)
class Control:
    """One control token."""

    name: str
    learned: bool = False


@dataclass(frozen=True)
class Clip:
    """A place for the sound of that index."""

    index: int


@dataclass(frozen=True)
class Picture:
    """A place for the picture of that index."""

    index: int


Part = Words | Control | Clip | Picture
"""A stretch of an example; neighbouring words with one purpose are one part, as they are tokenised as one."""


@dataclass(frozen=True)
class Tool:
    """A declaration: its schema is an object of flat properties."""

    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    required: Sequence[str] = ()

    def parameters(self) -> dict[str, Any]:
        """The JSON schema that declares it to a server."""
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)}


class Script:
    """Writes one conversation, turn by turn; what the model says is learned unless it is told otherwise."""

    def __init__(self, system: str = "", tools: Sequence[Tool] = (), thinking: bool = False) -> None:
        self.parts: list[Part] = []
        self.thinking = thinking
        self._is_open = False
        self._answers = 0
        self._pending_thought = False
        self._control("<bos>")
        if system or tools or thinking:
            self._begin("system")
            if thinking:
                self._control("<|think|>")
                self._words("\n")
            self._words(system.strip())
            for tool in tools:
                self._declare(tool)
            self._end()

    def user(self, *parts: str | Clip | Picture) -> None:
        """A user's turn."""
        self._close()
        if self.thinking:
            self._forget_thoughts()
        self._begin("user")
        for part in parts:
            if isinstance(part, str):
                self._words(part.strip())
            else:
                self.parts.append(part)
        self._end()

    def says(self, text: str, thought: str = "", learned: bool = True) -> None:
        """An answer in words that ends the model's turn."""
        self._open(thought, learned)
        self._words(text, learned)
        self._control("<turn|>", learned)
        self._words("\n")
        self._is_open = False

    def calls(self, *calls: tuple[str, Mapping[str, Value]], thought: str = "") -> None:
        """Calls of tools, after which the model's turn stays open."""
        self._open(thought, True)
        for name, arguments in calls:
            self._control("<|tool_call>", True)
            self._words(f"call:{name}{{", True)
            for at, key in enumerate(sorted(arguments, key=str.lower)):
                self._words(("," if at else "") + f"{key}:", True)
                self._value(arguments[key], True)
            self._words("}", True)
            self._control("<tool_call|>", True)
        # The model's own end of a call is also what the answer of the first tool begins with.
        self._control("<|tool_response>", True)
        self._answers = 0

    def result(self, name: str, value: str) -> None:
        """What a tool gave back; one for each call, in their order."""
        if self._answers:
            self._control("<|tool_response>")
        self._answers += 1
        self._words(f"response:{name}{{value:")
        self._value(value, False)
        self._words("}")
        self._control("<tool_response|>")
        if self.thinking:
            self._pending_thought = True

    def _open(self, thought: str, learned: bool) -> None:
        if not self._is_open:
            self._begin("model")
            self._is_open = True
        if self._pending_thought:
            # The prompt itself opens the thought that goes on after a tool's answer.
            self._control("<|channel>")
            self._words("thought\n")
            self._pending_thought = False
        elif thought:
            self._control("<|channel>", learned)
            self._words("thought\n", learned)
        if thought:
            self._words(f"{thought}\n", learned)
            self._control("<channel|>", learned)

    def _close(self) -> None:
        if self._is_open:
            self._end()
            self._is_open = False

    def _forget_thoughts(self) -> None:
        """Earlier thoughts are not shown again; an answer that stands there without one is nothing to learn."""
        kept: list[Part] = []
        inside = False
        for part in self.parts:
            inside = inside or (isinstance(part, Control) and part.name == "<|channel>")
            if not inside:
                kept.append(replace(part, learned=False) if isinstance(part, Words | Control) else part)
            inside = inside and not (isinstance(part, Control) and part.name == "<channel|>")
        self.parts = []
        for part in kept:
            if isinstance(part, Words):
                self._words(part.text)
            else:
                self.parts.append(part)

    def _begin(self, role: str) -> None:
        self._control("<|turn>")
        self._words(f"{role}\n")

    def _end(self) -> None:
        self._control("<turn|>")
        self._words("\n")

    def _declare(self, tool: Tool) -> None:
        self._control("<|tool>")
        self._words(f"declaration:{tool.name}{{description:")
        self._value(tool.description, False)
        if tool.properties:
            self._words(",parameters:{properties:{")
            for at, name in enumerate(sorted(tool.properties, key=str.lower)):
                self._words(("," if at else "") + f"{name}:{{")
                self._property(tool.properties[name])
                self._words("}")
            self._words("},required:[")
            for at, name in enumerate(tool.required):
                self._words("," if at else "")
                self._value(name, False)
            self._words("],type:")
            self._value("OBJECT", False)
            self._words("}")
        self._words("}")
        self._control("<tool|>")

    def _property(self, schema: Mapping[str, Any]) -> None:
        if "description" in schema:
            self._words("description:")
            self._value(schema["description"], False)
            self._words(",")
        if "enum" in schema:
            self._words("enum:[")
            for at, each in enumerate(schema["enum"]):
                self._words("," if at else "")
                self._value(each, False)
            self._words("],")
        self._words("type:")
        self._value(schema["type"].upper(), False)

    def _value(self, value: Value, learned: bool) -> None:
        if isinstance(value, str):
            self._control('<|"|>', learned)
            self._words(value, learned)
            self._control('<|"|>', learned)
        elif isinstance(value, bool):
            self._words("true" if value else "false", learned)
        else:
            self._words(str(value), learned)

    def _control(self, name: str, learned: bool = False) -> None:
        self.parts.append(Control(name, learned))

    def _words(self, text: str, learned: bool = False) -> None:
        if not text:
            return
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Words) and last.learned == learned:
            self.parts[-1] = Words(last.text + text, learned)
        else:
            self.parts.append(Words(text, learned))


def written(parts: Sequence[Part]) -> str:
    """Parts as one string, media by their placeholders: what a chat template makes."""
    names = {Clip: "<|audio|>", Picture: "<|image|>"}
    return "".join(
        part.text if isinstance(part, Words) else part.name if isinstance(part, Control) else names[type(part)]
        for part in parts
    )


def learned(parts: Sequence[Part]) -> list[tuple[int, str]]:
    """Each stretch to be learned: the index of its first part, and what it says."""
    found: list[tuple[int, str]] = []
    inside = False
    for at, part in enumerate(parts):
        if isinstance(part, Words | Control) and part.learned:
            text = part.text if isinstance(part, Words) else part.name
            if inside:
                start, before = found[-1]
                found[-1] = (start, before + text)
            else:
                found.append((at, text))
            inside = True
        else:
            inside = False
    return found
