"""The model's own notation of tool calls as a grammar: `<|tool_call>call:NAME{key:value,…}<tool_call|>`.

Keys are bare and sorted as the model's template sorts them; a string stands between two quote tokens, everything
else is written as in JSON.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

_LEVELS_MAX = 64
_LENGTH_MAX = 1000
_PROPERTIES_MAX = 500
# Schemas that are merged for one tool: references from `allOf` to each other multiply.
_MERGED_MAX = 256
_ENFORCED: dict[str, tuple[str, ...]] = {
    "object": ("properties", "required"),
    "array": ("items", "minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "boolean": (),
    "null": (),
}
# Say something to people, or nothing that the notation could break: only declared properties are written.
_SILENT = frozenset(
    {
        "type", "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
        "strict", "additionalProperties", "$schema", "$id", "$comment", "$defs", "definitions",
    }
)  # fmt: skip
_RANGES = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


class CallGrammar:
    """Collects tools and writes the grammar of a call of one of them."""

    def __init__(self, token: Callable[[str], str]) -> None:
        """Takes how a control token is written in the grammar."""
        self._begin, self._end, self._quote = (token(name) for name in ("<|tool_call>", "<tool_call|>", '<|"|>'))
        self._rules: dict[str, str] = {}
        self._bodies: list[str] = []
        self._unenforced: dict[str, None] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of the tools' schemas is not enforced, a sentence each."""
        if not self._unenforced:
            return ()
        names = ", ".join(json.dumps(each) for each in self._unenforced)
        return (f"The keywords {names} of the tools' parameters are not enforced.",)

    def add(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Adds a tool by its name and the schema of its arguments."""
        arguments = _Schemas(self, parameters).arguments()
        self._bodies.append(f"{_literal(name)} {arguments}")

    def add_free(self, name: str) -> None:
        """Adds a tool that takes whatever the model gives it."""
        self._bodies.append(f"{_literal(name)} any_object")

    def lark(self, *, parallel: bool) -> str:
        """The grammar, whose rule `answer` is one call or, if they may be parallel, one after another."""
        rules = {
            "answer": "call+" if parallel else "call",
            "call": f'{self._begin} "call:" ({" | ".join(self._bodies)}) {self._end}',
            **self._rules,
            "any": 'string | number | "true" | "false" | "null" | any_array | any_object',
            "any_array": '"[" (any ("," any)*)? "]"',
            "any_object": '"{" (KEY ":" any ("," KEY ":" any)*)? "}"',
            "string": f"{self._quote} TEXT? {self._quote}",
            "number": '%json {"type": "number"}',
            "TEXT": "/(?s:.+)/",
            "KEY": "/[A-Za-z_][A-Za-z0-9_.-]{0,63}/",
        }
        return "".join(f"{name}: {body}\n" for name, body in rules.items())

    def rule(self, body: str) -> str:
        """The name of a new rule."""
        name = self.reserve()
        self._rules[name] = body
        return name

    def reserve(self) -> str:
        """The name of a rule that is defined later."""
        name = f"rule_{len(self._rules)}"
        self._rules[name] = ""
        return name

    def define(self, name: str, body: str) -> None:
        """Defines a reserved rule."""
        self._rules[name] = body

    def quoted(self, inner: str) -> str:
        """A string of the notation around what the grammar calls `inner`."""
        return f"{self._quote} {inner} {self._quote}"

    def unenforced(self, keyword: str) -> None:
        """Notes a keyword that is let go."""
        self._unenforced[keyword] = None


class _Schemas:
    """Rules for the schemas of one tool, whose references all start at its root."""

    def __init__(self, grammar: CallGrammar, root: Mapping[str, Any]) -> None:
        self._grammar = grammar
        self._root = root
        self._referred: dict[str, str] = {}
        self._merges_left = _MERGED_MAX

    def arguments(self) -> str:
        """The arguments, always an object of what is declared."""
        schema = self._merged(self._root, 0)
        if "properties" not in schema and schema.get("additionalProperties"):
            return "any_object"
        return self._object(schema, 0)

    def _value(self, schema: Any, level: int) -> str:
        if not isinstance(schema, dict) or not schema or level > _LEVELS_MAX:
            return "any"
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference, level)
        schema = self._merged(schema, level)
        if "const" in schema:
            return self._written(schema["const"], level)
        if isinstance(choices := schema.get("enum"), list) and choices:
            return f"({' | '.join(self._written(each, level) for each in choices)})"
        for union in ("anyOf", "oneOf"):
            if isinstance(members := schema.get(union), list) and members:
                beside = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
                made = (
                    self._value({**beside, **each} if isinstance(each, dict) else {}, level + 1) for each in members
                )
                return f"({' | '.join(made)})"
        kinds = schema.get("type", _implied(schema))
        kinds = kinds or ["any"] if isinstance(kinds, list) else [kinds]
        if schema.get("nullable") is True:
            kinds = [*kinds, "null"]
        self._note(schema, kinds)
        return f"({' | '.join(self._typed(kind, schema, level) for kind in kinds)})"

    def _typed(self, kind: Any, schema: Mapping[str, Any], level: int) -> str:
        match kind:
            case "object":
                return self._object(schema, level) if "properties" in schema else "any_object"
            case "array":
                return self._array(schema, level)
            case "string":
                return self._string(schema)
            case "integer" | "number":
                ranges = {name: schema[name] for name in _RANGES if _is_number(schema.get(name))}
                return self._grammar.rule(f"%json {json.dumps({'type': kind, **ranges})}")
            case "boolean":
                return '("true" | "false")'
            case "null":
                return '"null"'
            case _:
                return "any"

    def _object(self, schema: Mapping[str, Any], level: int) -> str:
        """Every required property and any of the others, in one order."""
        properties = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
        listed = schema.get("required")
        required = {each for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()
        names = sorted({*properties, *required}, key=lambda name: (name.lower(), name))
        if len(names) > _PROPERTIES_MAX:
            self._grammar.unenforced("properties")
            return "any_object"
        first, rest = '""', '""'
        for name in reversed(names):
            pair = self._grammar.rule(f"{_literal(name + ':')} {self._value(properties.get(name, {}), level + 1)}")
            if name in required:
                first, rest = self._grammar.rule(f"{pair} {rest}"), self._grammar.rule(f'"," {pair} {rest}')
            else:
                first, rest = (
                    self._grammar.rule(f"{pair} {rest} | {first}"),
                    self._grammar.rule(f'("," {pair})? {rest}'),
                )
        return self._grammar.rule(f'"{{" {first} "}}"')

    def _array(self, schema: Mapping[str, Any], level: int) -> str:
        item = self._grammar.rule(self._value(schema.get("items", {}), level + 1))
        least, most = self._bounds(schema, "minItems", "maxItems")
        if most == 0:
            return '"[" "]"'
        more = f'("," {item}){{{max(least - 1, 0)},{"" if most is None else most - 1}}}'
        items = item if most == 1 else f"{item} {more}"
        return self._grammar.rule(f'"[" {items} "]"' if least else f'"[" ({items})? "]"')

    def _string(self, schema: Mapping[str, Any]) -> str:
        least, most = self._bounds(schema, "minLength", "maxLength")
        if least == 0 and most is None:
            return "string"
        if most == 0:
            return self._grammar.quoted('""')
        text = f"/(?s:.{{{max(least, 1)},{'' if most is None else most}}})/"
        return self._grammar.rule(self._grammar.quoted(text if least else f"({text})?"))

    def _bounds(self, schema: Mapping[str, Any], low: str, high: str) -> tuple[int, int | None]:
        found: list[int | None] = []
        for name in (low, high):
            value = schema.get(name)
            if _is_number(value) and 0 <= value <= _LENGTH_MAX and value == int(value):
                found.append(int(value))
                continue
            if value is not None:
                self._grammar.unenforced(name)
            found.append(None)
        least, most = found
        return least or 0, most if most is None or most >= (least or 0) else least

    def _written(self, value: Any, level: int) -> str:
        """A value as the notation writes it."""
        if isinstance(value, str):
            return self._grammar.quoted(_literal(value))
        if isinstance(value, list):
            items = ' "," '.join(self._written(each, level + 1) for each in value)
            return f'"[" {items} "]"'
        if isinstance(value, dict):
            entries = sorted(value.items(), key=lambda entry: (entry[0].lower(), entry[0]))
            pairs = ' "," '.join(f"{_literal(name + ':')} {self._written(each, level + 1)}" for name, each in entries)
            return f'"{{" {pairs} "}}"'
        return _literal(json.dumps(value))

    def _reference(self, reference: str, level: int) -> str:
        """The rule of a reference, which may refer to itself."""
        if reference not in self._referred:
            found = _resolved(self._root, reference)
            if found is None:
                self._grammar.unenforced("$ref")
                return "any"
            self._referred[reference] = name = self._grammar.reserve()
            self._grammar.define(name, self._value(found, level + 1))
        return self._referred[reference]

    def _merged(self, schema: Mapping[str, Any], level: int) -> dict[str, Any]:
        """The schema with the parts of `allOf` in it; of what is said twice the last is taken."""
        parts = schema.get("allOf")
        if not isinstance(parts, list) or level > _LEVELS_MAX:
            return dict(schema)
        merged = {name: value for name, value in schema.items() if name != "allOf"}
        for part in parts:
            if self._merges_left == 0:
                self._grammar.unenforced("allOf")
                break
            self._merges_left -= 1
            target = _resolved(self._root, part["$ref"]) if isinstance(part, dict) and "$ref" in part else part
            if not isinstance(target, dict):
                self._grammar.unenforced("allOf")
                continue
            for name, value in self._merged(target, level + 1).items():
                known = merged.get(name)
                if isinstance(known, dict) and isinstance(value, dict):
                    merged[name] = {**known, **value}
                elif isinstance(known, list) and isinstance(value, list) and name == "required":
                    merged[name] = [*known, *value]
                else:
                    merged[name] = value
        return merged

    def _note(self, schema: Mapping[str, Any], kinds: list[Any]) -> None:
        known = {*_SILENT, "nullable", *(name for kind in kinds for name in _ENFORCED.get(str(kind), ()))}
        for name in schema:
            if name not in known:
                self._grammar.unenforced(name)


def _implied(schema: Mapping[str, Any]) -> str:
    """The type of a schema that names none."""
    for kind, names in _ENFORCED.items():
        if any(name in schema for name in names):
            return kind
    return "any"


def _resolved(root: Mapping[str, Any], reference: Any) -> Any:
    """What a reference inside the schema points at, or nothing."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            return None
        found = found[name]
    return found if isinstance(found, dict) else None


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
