"""What an answer must be, as the set of tokens that may come next.

The mask is applied with plain array operations: the kernel that comes with the library needs Metal.
"""

import json
import re
import threading
from collections.abc import Collection
from typing import Any

import mlx.core as mx
import numpy as np
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from hangar_worker import frames
from hangar_worker.call_grammar import CallGrammar
from hangar_worker.faults import FaultError, sampling_invalid
from hangar_worker.tokens import Vocabulary

# One blank, or a line break and its indentation: a small model would else go on with blanks for ever.
_BLANKS = r"( |\n[ \t]{0,24})?"
_JSON_OPTIONS = {"lenient": True, "whitespace_pattern": _BLANKS}
# What the library may refuse the whole schema for.
_REFUSABLE = frozenset({"pattern", "patternProperties", "format"})
_UNENFORCED = re.compile(r"Unimplemented keys: (\[.*\])")
_WORD_BITS = 32
# The library follows references by recursion and would run over an ordinary stack; this one is address space only,
# and enough for any schema within the limit.
_STACK_BYTES = 512 * 1024 * 1024
_SCHEMA_CHARACTERS_MAX = 256 * 1024


class Constraint:
    """The state of one answer in its grammar."""

    def __init__(self, matcher: LLMatcher) -> None:
        """Takes a matcher at its beginning."""
        self._matcher = matcher

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete and nothing may follow."""
        return self._matcher.is_stopped()

    def apply(self, logits: mx.array) -> mx.array:
        """The logits of the tokens that may come next; minus infinity for all others."""
        words = np.frombuffer(self._matcher.compute_bitmask(), np.uint32)
        self._go_on()
        rows = int(logits.shape[-1])
        bits = (mx.array(words)[:, None] >> mx.arange(_WORD_BITS, dtype=mx.uint32)) & 1
        return mx.where(bits.reshape(-1)[:rows] > 0, logits, -mx.inf)

    def take(self, token: int) -> None:
        """Goes on by one token.

        Raises:
            FaultError: when the grammar became too complex to go on with.
        """
        if not self._matcher.is_stopped():
            self._matcher.consume_token(token)
        self._go_on()

    def _go_on(self) -> None:
        if self._matcher.is_error():
            raise sampling_invalid("grammar", "is too complex to be followed any further")


class Grammars:
    """Compiles grammars for one model; what is the same for all of them is made at the first."""

    def __init__(self, vocabulary: Vocabulary, rows: int, end_tokens: Collection[int]) -> None:
        """Takes the tokens, the length of the logits, and the tokens that end an answer."""
        self._vocabulary = vocabulary
        self._rows = rows
        self._end_tokens = sorted(end_tokens)
        self._made: LLTokenizer | None = None

    def compile(self, grammar: frames.Grammar, thought: frames.Thought) -> tuple[Constraint, tuple[str, ...]]:
        """The constraint, and what of the grammar is not enforced.

        Raises:
            FaultError: `sampling_invalid` when it is no grammar at all.
        """
        try:
            match grammar:
                case frames.JsonObject():
                    return self._json({"type": "object"}, thought)
                case frames.JsonSchema():
                    return self._schema(_parsed(grammar.schema_json, "schema_json", "the schema"), thought)
                case frames.ToolCalls():
                    return self._calls(grammar, thought)
        except RecursionError as error:
            raise sampling_invalid("grammar", "has a schema that is nested too deep") from error

    def _schema(self, schema: dict[str, Any], thought: frames.Thought) -> tuple[Constraint, tuple[str, ...]]:
        is_object = schema.get("type") == "object" or "properties" in schema
        tries = (
            (schema, ()),
            (_loosened(schema), ("The schema's patterns, formats and references to elsewhere are not enforced.",)),
            ({"type": "object"} if is_object else {}, ("The schema cannot be enforced; the answer is JSON.",)),
        )
        for each, said in tries:
            try:
                constraint, warnings = self._json(each, thought)
            except FaultError:
                continue
            return constraint, (*said, *warnings)
        raise _not_compiled()

    def _json(self, schema: dict[str, Any], thought: frames.Thought) -> tuple[Constraint, tuple[str, ...]]:
        # Options that a schema brings along would undo ours.
        written = json.dumps({**schema, "x-guidance": _JSON_OPTIONS})
        if len(written) > _SCHEMA_CHARACTERS_MAX:
            raise _not_compiled()
        return self._lark(f"answer: %json {written}\n", thought)

    def _calls(self, calls: frames.ToolCalls, thought: frames.Thought) -> tuple[Constraint, tuple[str, ...]]:
        if not calls.tools:
            raise sampling_invalid("grammar.tools", "must hold at least one tool")
        grammar = CallGrammar(self._token)
        for tool in calls.tools:
            grammar.add(tool.name, _parsed(tool.parameters_json, "tools", f"the schema of {tool.name}"))
        try:
            if sum(len(tool.parameters_json) for tool in calls.tools) > _SCHEMA_CHARACTERS_MAX:
                raise _not_compiled()
            constraint, warnings = self._lark(grammar.lark(parallel=calls.parallel), thought)
        except FaultError:
            free = CallGrammar(self._token)
            for tool in calls.tools:
                free.add_free(tool.name)
            constraint, _ = self._lark(free.lark(parallel=calls.parallel), thought)
            return constraint, ("The tools' parameters cannot be enforced; any may be given.",)
        return constraint, (*grammar.warnings, *warnings)

    def _lark(self, answer: str, thought: frames.Thought) -> tuple[Constraint, tuple[str, ...]]:
        start = {"off": "answer", "allowed": "thought? answer", "open": "end_of_thought answer"}[thought]
        lines = [f"start: {start}\n", answer]
        if thought != "off":
            lines += [
                f"thought: {self._token('<|channel>')} end_of_thought\n",
                f"end_of_thought: THOUGHT? {self._token('<channel|>')}\n",
                "THOUGHT: /(?s:.+)/\n",
            ]
        matcher = _compiled(self._tokenizer(), LLMatcher.grammar_from_lark("".join(lines)))
        if matcher.is_error():
            raise _not_compiled()
        return Constraint(matcher), tuple(_told(each) for each in matcher.get_grammar_warnings())

    def _token(self, name: str) -> str:
        number = self._vocabulary.control(name)
        if number is None:
            raise sampling_invalid("grammar", f"needs the token {name}, which this model has not")
        return f"<[{number}]>"

    def _tokenizer(self) -> LLTokenizer:
        if self._made is None:
            wrapper = TokenizerWrapper(_Tokens(self._vocabulary, self._rows, self._end_tokens))
            self._made = LLTokenizer(wrapper, eos_token=self._end_tokens)
        return self._made


class _Tokens:
    """The vocabulary in the shape that the library asks for."""

    def __init__(self, vocabulary: Vocabulary, rows: int, end_tokens: list[int]) -> None:
        self.eos_token_id = end_tokens[0]
        self.bos_token_id = vocabulary.control("<bos>")
        self.special_token_ids = sorted(vocabulary.control_ids)
        self.tokens = [vocabulary.token_bytes(each) for each in range(rows)]
        self._vocabulary = vocabulary

    def __call__(self, text: str | bytes) -> list[int]:
        return self._vocabulary.encode_text(text if isinstance(text, str) else text.decode())


def _compiled(tokenizer: LLTokenizer, grammar: str) -> LLMatcher:
    """The matcher of a grammar, made on a thread with a large stack."""
    made: list[LLMatcher] = []

    def compile_on_it() -> None:
        matcher = LLMatcher(tokenizer, grammar, log_level=0)
        # Shows early whether it can be followed at all.
        matcher.compute_bitmask()
        made.append(matcher)

    before = threading.stack_size(_STACK_BYTES)
    try:
        thread = threading.Thread(target=compile_on_it)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    return made.pop()


def _not_compiled() -> FaultError:
    return sampling_invalid("grammar", "cannot be compiled")


def _parsed(text: str, field: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise sampling_invalid(f"grammar.{field}", f"cannot be read: {name} is no JSON or nested too deep") from error
    if not isinstance(found, dict):
        raise sampling_invalid(f"grammar.{field}", f"cannot be read: {name} is no JSON object")
    return found


def _loosened(schema: Any) -> Any:
    """The schema without what the library may refuse it for."""
    if isinstance(schema, list):
        return [_loosened(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        return {}
    return {
        # Under `properties` these are names of properties.
        name: {key: _loosened(each) for key, each in value.items()}
        if name in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else _loosened(value)
        for name, value in schema.items()
        if name not in _REFUSABLE
    }


def _told(warning: str) -> str:
    if match := _UNENFORCED.fullmatch(warning):
        return f"The schema's keywords {match[1].strip('[]')} are not enforced."
    if warning.startswith("Unknown format: "):
        return f'The schema\'s format "{warning.removeprefix("Unknown format: ")}" is not enforced.'
    return "The schema is enforced in part."
