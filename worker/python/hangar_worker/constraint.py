"""What an answer must be, as the set of tokens that may come next.

The mask is applied with plain array operations: the kernel that comes with the library needs Metal.
"""

import json
import re
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, TypeVar

import mlx.core as mx
import numpy as np
from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from hangar_worker import frames
from hangar_worker.call_grammar import CallGrammar
from hangar_worker.faults import CancelledError, FaultError, sampling_invalid
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
# How often it is asked whether what is being made is still wanted.
_ASKED_EVERY_SECONDS = 0.02
_Made = TypeVar("_Made")

Stop = Callable[[], bool]
"""Whether what is being done is no longer wanted."""


class Constraint:
    """The state of one answer in its grammar."""

    def __init__(self, matcher: LLMatcher, field: str) -> None:
        """Takes a matcher at its beginning, and the field that a refusal names."""
        self._matcher = matcher
        self._field = field

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
            raise sampling_invalid(self._field, "is too complex to be followed any further")


class Grammars:
    """Compiles grammars for one model; what is the same for all of them is begun at once, on a thread of its own."""

    def __init__(self, vocabulary: Vocabulary, rows: int, end_tokens: Collection[int]) -> None:
        """Takes the tokens, the length of the logits, and the tokens that end an answer."""
        self._vocabulary = vocabulary
        ends = sorted(end_tokens)

        def made() -> LLTokenizer:
            return LLTokenizer(TokenizerWrapper(_Tokens(vocabulary, rows, ends)), eos_token=ends)

        self._tokenizer = _on_a_thread(made)

    def wait(self) -> None:
        """Waits until what is the same for all grammars is made."""
        self._tokenizer.exception()

    def compile(
        self, grammar: frames.Grammar, thought: frames.Thought, stop: Stop = lambda: False
    ) -> tuple[Constraint, tuple[str, ...]]:
        """The constraint, and what of the grammar is not enforced; `stop` is asked all the while.

        Raises:
            FaultError: `sampling_invalid` when it is no grammar at all.
            CancelledError: when told to stop.
        """
        work = _Compilation(self._vocabulary, _awaited(self._tokenizer, stop), thought, _field(grammar), stop)
        try:
            return work.of(grammar)
        except RecursionError as error:
            raise sampling_invalid(_field(grammar), "has a schema that is nested too deep") from error


class _Compilation:
    """Compiles one grammar."""

    def __init__(
        self, vocabulary: Vocabulary, tokenizer: LLTokenizer, thought: frames.Thought, field: str, stop: Stop
    ) -> None:
        self._vocabulary = vocabulary
        self._tokenizer = tokenizer
        self._thought = thought
        self._field = field
        self._stop = stop

    def of(self, grammar: frames.Grammar) -> tuple[Constraint, tuple[str, ...]]:
        """The constraint, and what of the grammar is not enforced."""
        match grammar:
            case frames.JsonObject():
                return self._json({"type": "object"})
            case frames.JsonSchema():
                return self._schema(_parsed(grammar.schema_json, self._field, "the schema"))
            case frames.ToolCalls():
                return self._calls(grammar)

    def _schema(self, schema: dict[str, Any]) -> tuple[Constraint, tuple[str, ...]]:
        is_object = schema.get("type") == "object" or "properties" in schema
        tries = (
            (schema, ()),
            (_loosened(schema), ("The schema's patterns, formats and references to elsewhere are not enforced.",)),
            ({"type": "object"} if is_object else {}, ("The schema cannot be enforced; the answer is JSON.",)),
        )
        for each, said in tries:
            try:
                constraint, warnings = self._json(each)
            except FaultError:
                continue
            return constraint, (*said, *warnings)
        raise self._not_compiled()

    def _json(self, schema: dict[str, Any]) -> tuple[Constraint, tuple[str, ...]]:
        # Options that a schema brings along would undo ours.
        written = json.dumps({**schema, "x-guidance": _JSON_OPTIONS})
        if len(written) > _SCHEMA_CHARACTERS_MAX:
            raise self._not_compiled()
        return self._lark(f"answer: %json {written}\n")

    def _calls(self, calls: frames.ToolCalls) -> tuple[Constraint, tuple[str, ...]]:
        if not calls.tools:
            raise sampling_invalid(self._field, "must hold at least one tool")
        schemas = [
            (each.name, _parsed(each.parameters_json, self._field, f"the schema of {each.name}"))
            for each in calls.tools
        ]
        grammar = CallGrammar(self._token)
        try:
            if sum(len(tool.parameters_json) for tool in calls.tools) > _SCHEMA_CHARACTERS_MAX:
                raise self._not_compiled()
            for name, schema in schemas:
                grammar.add(name, schema)
            constraint, warnings = self._lark(grammar.lark(parallel=calls.parallel))
        except FaultError:
            free = CallGrammar(self._token)
            for name, _ in schemas:
                free.add_free(name)
            constraint, _ = self._lark(free.lark(parallel=calls.parallel))
            return constraint, ("The tools' parameters cannot be enforced; any may be given.",)
        return constraint, (*grammar.warnings, *warnings)

    def _lark(self, answer: str) -> tuple[Constraint, tuple[str, ...]]:
        start = {"off": "answer", "allowed": "thought? answer", "open": "end_of_thought answer"}[self._thought]
        lines = [f"start: {start}\n", answer]
        if self._thought != "off":
            lines += [
                f"thought: {self._token('<|channel>')} end_of_thought\n",
                f"end_of_thought: THOUGHT? {self._token('<channel|>')}\n",
                "THOUGHT: /(?s:.+)/\n",
            ]
        matcher = self._compiled(LLMatcher.grammar_from_lark("".join(lines)))
        return Constraint(matcher, self._field), tuple(_told(each) for each in matcher.get_grammar_warnings())

    def _compiled(self, grammar: str) -> LLMatcher:
        """The matcher of a grammar, made on a thread with a large stack."""

        def made() -> LLMatcher | None:
            try:
                matcher = LLMatcher(self._tokenizer, grammar, log_level=0)
                # Shows early whether it can be followed at all.
                matcher.compute_bitmask()
            except BaseException:  # noqa: BLE001 - a panic of the library is no ordinary exception
                return None
            return None if matcher.is_error() else matcher

        matcher = _awaited(_on_a_thread(made, _STACK_BYTES), self._stop)
        if matcher is None:
            raise self._not_compiled()
        return matcher

    def _token(self, name: str) -> str:
        number = self._vocabulary.control(name)
        if number is None:
            raise sampling_invalid(self._field, f"needs the token {name}, which this model has not")
        return f"<[{number}]>"

    def _not_compiled(self) -> FaultError:
        return sampling_invalid(self._field, "cannot be compiled")


class _Tokens:
    """The vocabulary in the shape that the library asks for."""

    def __init__(self, vocabulary: Vocabulary, rows: int, end_tokens: list[int]) -> None:
        self.eos_token_id = end_tokens[0]
        self.bos_token_id = vocabulary.control("<bos>")
        self.special_token_ids = sorted(vocabulary.control_ids)
        self.tokens = vocabulary.table(rows)
        self._vocabulary = vocabulary

    def __call__(self, text: str | bytes) -> list[int]:
        return self._vocabulary.encode_text(text if isinstance(text, str) else text.decode())


def _on_a_thread(make: Callable[[], _Made], stack_bytes: int = 0) -> Future[_Made]:
    """What is being made on a thread that nobody has to wait for."""
    made: Future[_Made] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            made.set_exception(error)

    before = threading.stack_size(stack_bytes)
    try:
        threading.Thread(target=run, daemon=True).start()
    finally:
        threading.stack_size(before)
    return made


def _awaited(made: Future[_Made], stop: Stop) -> _Made:
    """What was made.

    Raises:
        CancelledError: when told to stop before that; it is then made for nothing.
    """
    while not made.done():
        try:
            made.exception(_ASKED_EVERY_SECONDS)
        except TimeoutError:
            if stop():
                raise CancelledError from None
    return made.result()


def _field(grammar: frames.Grammar) -> str:
    """The field that refusals of a grammar name."""
    match grammar:
        case frames.JsonObject():
            return "grammar"
        case frames.JsonSchema():
            return "grammar.schema_json"
        case frames.ToolCalls():
            return "grammar.tools"


def _parsed(text: str, field: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise sampling_invalid(field, f"cannot be read: {name} is no JSON or nested too deep") from error
    if not isinstance(found, dict):
        raise sampling_invalid(field, f"cannot be read: {name} is no JSON object")
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
