"""Random schemas with their own checks, and the model's notation of tool calls read back."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from hangar_worker import frames

Check = Callable[[Any], bool]
NAMES = ("b", "a", "Zed", "city name", "naïve", "x-y", 'q"t')
_KEYWORDS = (
    "type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "pattern",
    "additionalProperties", "format", "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "not",
    "maxItems", "nullable", "prefixItems", "if", "x-guidance", "patternProperties", "uniqueItems", "$id", "a", "", '"',
)  # fmt: skip
_VALUES = (
    "object", "string", "integer", "number", "array", "#", "#/$defs/a", "#/a/b", "other", "", "(", "a{1,99999}", "zzz",
    "(?=x)", 0, 1, -1, 0.5, 1e300, 10**18, 2**64 - 1, 1000, 7.0, True, False, None, "\0", "\\", '<|"|>', "\ud7ff", "😀",
)  # fmt: skip


def nonsense(draw: random.Random) -> dict[str, Any]:
    """An object of keywords with whatever beside them."""
    return {draw.choice(_KEYWORDS): _whatever(draw, 0) for _ in range(draw.randint(1, 5))}


def _whatever(draw: random.Random, level: int) -> Any:
    kind = draw.random()
    if level > 4 or kind < 0.3:
        return draw.choice(_VALUES)
    if kind < 0.5:
        return [_whatever(draw, level + 1) for _ in range(draw.randint(0, 4))]
    return {draw.choice(_KEYWORDS): _whatever(draw, level + 1) for _ in range(draw.randint(0, 5))}


def schema(draw: random.Random, level: int = 0) -> tuple[dict[str, Any], Check]:
    """A schema whose answers are short, and what holds of them."""
    return draw.choice(_SIMPLE if level else (_an_object,))(draw, level)


def _an_object(draw: random.Random, level: int) -> tuple[dict[str, Any], Check]:
    names = draw.sample(NAMES, draw.randint(1, 2 if level else 3))
    made = {name: schema(draw, level + 1) for name in names}
    required = [name for name in names if draw.random() < 0.7]
    written = {
        "type": "object",
        "properties": {name: each for name, (each, _) in made.items()},
        "required": required,
        "additionalProperties": False,
    }

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and set(required) <= value.keys() <= set(names)
            and all(made[name][1](each) for name, each in value.items())
        )

    return written, check


def _an_array(draw: random.Random, level: int) -> tuple[dict[str, Any], Check]:
    least = draw.randint(0, 2)
    most = least + draw.randint(0, 1)
    items, check = schema(draw, level + 1) if level < 2 else _an_integer(draw, level)
    written = {"type": "array", "items": items, "minItems": least, "maxItems": most}
    return (
        written,
        lambda value: isinstance(value, list) and least <= len(value) <= most and all(check(each) for each in value),
    )


def _an_integer(draw: random.Random, _: int) -> tuple[dict[str, Any], Check]:
    least = draw.randint(-20, 20)
    most = least + draw.randint(0, 200)
    written = {"type": "integer", "minimum": least, "maximum": most}
    return written, lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _a_string(draw: random.Random, _: int) -> tuple[dict[str, Any], Check]:
    least = draw.randint(0, 3)
    most = least + draw.randint(0, 4)
    written = {"type": "string", "minLength": least, "maxLength": most}
    return written, lambda value: isinstance(value, str) and least <= len(value) <= most


def _one_of_a_list(draw: random.Random, _: int) -> tuple[dict[str, Any], Check]:
    values = draw.sample(["one", "", 'tw"o', 3, True, None, "日本"], draw.randint(1, 3))
    return {"enum": values}, lambda value: any(value == each and type(value) is type(each) for each in values)


def _a_flag_or_nothing(draw: random.Random, _: int) -> tuple[dict[str, Any], Check]:
    if draw.random() < 0.5:
        return {"type": ["boolean", "null"]}, lambda value: value is None or isinstance(value, bool)
    return {"anyOf": [{"const": 7}, {"type": "null"}]}, lambda value: value is None or value == 7


_SIMPLE = (_an_integer, _a_string, _one_of_a_list, _a_flag_or_nothing, _an_array, _an_object)


def calls(pieces: Sequence[frames.Piece]) -> list[tuple[str, dict[str, Any]]]:
    """The calls that an answer consists of; fails where it is anything else."""
    reader = _Reader(_symbols(pieces))
    made: list[tuple[str, dict[str, Any]]] = []
    while reader.next_is("<|tool_call>"):
        reader.expect("<|tool_call>")
        reader.expect(*"call:")
        name = reader.until("{")
        made.append((name, reader.object()))
        reader.expect("<tool_call|>")
    if not reader.is_empty():
        assert reader.take() in ("<turn|>", "<|tool_response>", "<eos>")
    assert reader.is_empty()
    return made


def _symbols(pieces: Sequence[frames.Piece]) -> list[str]:
    """Characters of text, and control tokens whole."""
    symbols: list[str] = []
    for piece in pieces:
        symbols += [piece.token] if isinstance(piece, frames.Control) else list(piece.text)
    return symbols


class _Reader:
    def __init__(self, symbols: list[str]) -> None:
        self._symbols = symbols
        self._at = 0

    def is_empty(self) -> bool:
        return self._at == len(self._symbols)

    def next_is(self, symbol: str) -> bool:
        return not self.is_empty() and self._symbols[self._at] == symbol

    def take(self) -> str:
        self._at += 1
        return self._symbols[self._at - 1]

    def expect(self, *symbols: str) -> None:
        assert [self.take() for _ in symbols] == list(symbols)

    def until(self, *ends: str) -> str:
        text = ""
        while self._symbols[self._at] not in ends:
            text += self.take()
        return text

    def object(self) -> dict[str, Any]:
        self.expect("{")
        found: dict[str, Any] = {}
        while not self.next_is("}"):
            if found:
                self.expect(",")
            key = self.until(":")
            self.expect(":")
            assert key not in found
            found[key] = self.value()
        self.expect("}")
        return found

    def value(self) -> Any:
        if self.next_is("{"):
            return self.object()
        if self.next_is("["):
            return self.array()
        if self.next_is('<|"|>'):
            self.take()
            text = self.until('<|"|>')
            self.take()
            return text
        return json.loads(self.until(",", "}", "]"))

    def array(self) -> list[Any]:
        self.expect("[")
        found: list[Any] = []
        while not self.next_is("]"):
            if found:
                self.expect(",")
            found.append(self.value())
        self.expect("]")
        return found
