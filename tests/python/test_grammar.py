"""Grammars hold: JSON by schema and forced tool calls, by the built-in model at high temperature."""

import json
import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from conftest import Loaded
from conversation import failed, finished, generate, pieces, prompt, user, written
from notation import calls, nonsense, schema

from hangar_worker import constraint, frames
from hangar_worker.constraint import Grammars
from hangar_worker.faults import CancelledError, FaultError, SamplingInvalid
from hangar_worker.tokens import Vocabulary

# Random schemas and tools that are drawn.
COUNT = int(os.environ.get("HANGAR_SCHEMAS", "15"))
ASKED = prompt(user("what is the code?"))


def _ask(
    pocket: Loaded, grammar: frames.Grammar, number: int = 0, limit: int = 1500, **more: Any
) -> list[frames.FromWorker]:
    sampling = frames.Sampling(**{"temperature": 1.5, "seed": number, "grammar": grammar, **more})
    return pocket.ask(generate(ASKED, limit, sampling))


def _by(pocket: Loaded, wanted: object, number: int = 0, limit: int = 1500, **more: Any) -> list[frames.FromWorker]:
    return _ask(pocket, frames.JsonSchema(json.dumps(wanted)), number, limit, **more)


def _tool(name: str, **properties: Any) -> frames.CallableTool:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return frames.CallableTool(name, json.dumps(parameters))


def _visible(answer: list[frames.FromWorker]) -> str:
    return "".join("" if isinstance(piece, frames.Control) else piece.text for piece in pieces(answer))


def test_json_holds_to_any_schema(pocket: Loaded) -> None:
    draw = random.Random(17)
    wrong = []
    for number in range(COUNT):
        wanted, check = schema(draw)
        # Nearly every token is as likely as any other then: only the grammar is left.
        answer = _by(pocket, wanted, number, temperature=20.0)
        end = finished(answer)
        if (end.reason, end.warnings) != ("stop", ()) or not check(json.loads(_visible(answer))):
            wrong.append((number, wanted, written(answer)))
    print(f"\nfigures: JSON held to {COUNT - len(wrong)} of {COUNT} random schemas")  # noqa: T201
    assert wrong == []


def test_a_forced_tool_holds_for_any_schema(pocket: Loaded) -> None:
    draw = random.Random(18)
    wrong = []
    for number in range(COUNT):
        tools = {name: schema(draw) for name in draw.sample(("get", "get_more", "naïve.tool"), draw.randint(1, 2))}
        grammar = frames.ToolCalls(
            tuple(frames.CallableTool(name, json.dumps(wanted)) for name, (wanted, _) in tools.items()),
            parallel=False,
        )
        answer = _ask(pocket, grammar, number, temperature=20.0)
        end = finished(answer)
        called = calls(pieces(answer))
        is_held = [tools[name][1](arguments) for name, arguments in called] == [True]
        if (end.reason, end.warnings) != ("stop", ()) or not is_held:
            wrong.append((number, tools, written(answer)))
    print(f"\nfigures: a forced call held to {COUNT - len(wrong)} of {COUNT} random schemas")  # noqa: T201
    assert wrong == []


def test_json_object_is_an_object(pocket: Loaded) -> None:
    for number in range(8):
        answer = _ask(pocket, frames.JsonObject(), number, temperature=8.0, limit=120)
        if finished(answer).reason == "stop":
            assert isinstance(json.loads(_visible(answer)), dict)
        else:
            assert written(answer).startswith("{")


def test_properties_come_in_the_order_of_the_schema(pocket: Loaded) -> None:
    wanted = {"properties": {name: {"const": 1} for name in "zaby"}, "required": ["a", "b", "y", "z"]}
    wanted |= {"type": "object", "additionalProperties": False}
    assert list(json.loads(_visible(_by(pocket, wanted)))) == list("zaby")


def test_an_answer_is_over_with_its_grammar(pocket: Loaded) -> None:
    answer = _by(pocket, {"const": {"a": 1}}, temperature=0.0)
    end = finished(answer)
    assert end.reason == "stop"
    assert end.tokens.completion_tokens == len(pieces(answer))
    exact = _by(pocket, {"const": {"a": 1}}, temperature=0.0, limit=end.tokens.completion_tokens)
    assert finished(exact).reason == "stop"


def test_an_open_end_is_chosen_by_the_model(pocket: Loaded) -> None:
    answer = _by(pocket, {"type": "integer", "minimum": 1, "maximum": 99})
    assert 1 <= int(_visible(answer)) <= 99
    assert finished(answer).reason == "stop"


def test_tokens_run_out_inside_a_grammar_as_length(pocket: Loaded) -> None:
    wanted = {"type": "array", "items": {"const": "amber"}, "minItems": 9}
    answer = _by(pocket, wanted, limit=12)
    end = finished(answer)
    assert (end.reason, end.tokens.completion_tokens) == ("length", 12)
    assert not written(answer).endswith("]")
    assert finished(_ask(pocket, frames.ToolCalls((_tool("get", a={}),), parallel=False), limit=2)).reason == "length"


def test_a_stop_text_ends_an_answer_inside_its_grammar(pocket: Loaded) -> None:
    answer = _by(pocket, {"const": ["one", "two"]}, stop=("two",))
    assert finished(answer).reason == "stop_text"
    assert written(answer).replace(" ", "").replace("\n", "").replace("\t", "") == '["one","'


def test_blanks_between_values_are_bounded(pocket: Loaded) -> None:
    wanted = {"const": [1, 2, 3]}
    for number in range(20):
        text = _visible(_by(pocket, wanted, number, temperature=20.0))
        assert json.loads(text) == [1, 2, 3]
        assert len(text) < 7 + 7 * 26


@pytest.mark.parametrize(
    "grammar",
    [frames.JsonSchema('{"const": {"a": 1}}'), frames.ToolCalls((_tool("get", a={"const": 1}),), parallel=False)],
)
def test_thinking_comes_before_the_grammar_where_it_may(pocket: Loaded, grammar: frames.Grammar) -> None:
    begun = {written(_ask(pocket, grammar, number, 1, thought="allowed", temperature=50.0)) for number in range(16)}
    first = "{" if isinstance(grammar, frames.JsonSchema) else "<|tool_call>"
    assert begun == {first, "<|channel>"}
    assert written(_ask(pocket, grammar, 1, 1, temperature=50.0)) == first


@pytest.mark.parametrize(
    ("thought", "parts", "taken"),
    [
        ("off", ['{"a":1}'], True),
        ("off", ["<|channel>", "thought\n", "<channel|>", '{"a":1}'], False),
        ("allowed", ['{"a":1}'], True),
        ("allowed", ["<|channel>", "thought\n{", "<channel|>", '{"a":1}'], True),
        ("allowed", ["<|channel>", "<channel|>", '{"a":1}'], True),
        ("allowed", ["thought\n", "<channel|>", '{"a":1}'], False),
        ("allowed", ["<|channel>", "a", "<channel|>", "<|channel>", "b", "<channel|>", '{"a":1}'], False),
        ("open", ["ends here", "<channel|>", '{"a":1}'], True),
        ("open", ["<channel|>", '{"a":1}'], True),
        ("open", ['{"a":1}'], False),
        ("open", ["ends here", "<turn|>"], False),
    ],
)
def test_a_grammar_begins_after_the_thought(
    pocket: Loaded, thought: frames.Thought, parts: list[str], taken: bool
) -> None:
    grammar = frames.JsonSchema('{"const": {"a": 1}}')
    assert _takes(pocket, frames.Sampling(grammar=grammar, thought=thought), *parts) == taken


def test_parallel_calls_follow_each_other_and_single_ones_do_not(pocket: Loaded) -> None:
    tools = (_tool("get", a={"type": "boolean"}), _tool("put"))
    counts = [
        len(calls(pieces(_ask(pocket, frames.ToolCalls(tools, parallel=True), number, temperature=9.0))))
        for number in range(20)
    ]
    assert min(counts) == 1
    assert max(counts) > 1
    for number in range(5):
        assert len(calls(pieces(_ask(pocket, frames.ToolCalls(tools, parallel=False), number, temperature=9.0)))) == 1


@pytest.mark.parametrize(
    ("wanted", "warning"),
    [
        ({"type": "integer", "maximum": 3, "if": {}}, 'keywords "if" are not enforced'),
        ({"type": "string", "format": "zzz", "maxLength": 2}, 'format "zzz" is not enforced'),
        ({"type": "string", "pattern": "(?=a)b", "maxLength": 2}, "patterns, formats and references"),
        ({"$ref": "elsewhere.json", "type": "null"}, "patterns, formats and references"),
        ({"type": "nonsense"}, "cannot be enforced"),
        ({"type": "integer", "maximum": 3, "not": {}, "x-guidance": {"lenient": False}}, '"not" are not enforced'),
    ],
)
def test_what_cannot_be_enforced_is_let_go_with_a_warning(pocket: Loaded, wanted: dict[str, Any], warning: str) -> None:
    [said, *_] = finished(_by(pocket, wanted, limit=30)).warnings
    assert warning in said


def test_keywords_of_tools_that_cannot_be_enforced_are_named_once(pocket: Loaded) -> None:
    text = {"type": "string", "pattern": "^a", "format": "date", "maxLength": 3}
    elsewhere = {"$ref": "elsewhere.json"}
    grammar = frames.ToolCalls((_tool("get", a=text, b=text), _tool("put", c=elsewhere)), parallel=False)
    [said] = finished(_ask(pocket, grammar, limit=60)).warnings
    assert said == 'The keywords "pattern", "format", "$ref" of the tools\' parameters are not enforced.'


@pytest.mark.parametrize(
    ("parameters", "held"),
    [
        ({}, lambda found: found == {}),
        ({"type": "object"}, lambda found: found == {}),
        ({"properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"], "$defs": {"n": {"const": "x"}}},
         lambda found: found == {"a": "x"}),
        ({"properties": {"a": {"allOf": [{"type": "integer"}, {"maximum": 3, "minimum": 3}]}}, "required": ["a"]},
         lambda found: found == {"a": 3}),
        ({"allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]},
                    {"properties": {"b": {"const": [2, {"c": "d"}]}}, "required": ["b"]}]},
         lambda found: found == {"a": 1, "b": [2, {"c": "d"}]}),
        ({"properties": {"a": {"oneOf": [{"const": 1}, {"const": "one"}]}}, "required": ["a", "c"]},
         lambda found: found["a"] in (1, "one") and "c" in found),
        ({"properties": {"a": {"type": "boolean", "nullable": True}}, "required": ["a"]},
         lambda found: found["a"] in (True, False, None)),
        ({"properties": {"a": {"minimum": 5, "maximum": 6}}, "required": ["a"]}, lambda found: 5 <= found["a"] <= 6),
        ({"properties": {"a": {"type": "array", "maxItems": 0}, "b": {"type": "string", "maxLength": 0}},
          "required": ["a", "b"]}, lambda found: found == {"a": [], "b": ""}),
    ],
)  # fmt: skip
def test_parameters_are_kept_to(pocket: Loaded, parameters: dict[str, Any], held: Any) -> None:
    grammar = frames.ToolCalls((frames.CallableTool("get", json.dumps(parameters)),), parallel=False)
    for number in range(3):
        answer = _ask(pocket, grammar, number, 400)
        if finished(answer).reason == "length":
            continue
        [(_, found)] = calls(pieces(answer))
        assert held(found), found
        break
    else:
        raise AssertionError(written(answer))


def test_a_tool_without_declared_properties_takes_what_its_schema_says(pocket: Loaded) -> None:
    for parameters, texts in (
        ({"type": "object"}, {"{}"}),
        ({"additionalProperties": True}, {"{}", "{a:1}", "{a:[{}]}"}),
    ):
        grammar = frames.ToolCalls((frames.CallableTool("get", json.dumps(parameters)),), parallel=False)
        for text in ("{}", "{a:1}", "{a:[{}]}", "{a}"):
            parts = ("<|tool_call>", "call:get" + text, "<tool_call|>")
            assert _takes(pocket, frames.Sampling(grammar=grammar), *parts) == (text in texts)


def test_what_is_too_large_to_enforce_is_let_go_with_a_warning(pocket: Loaded) -> None:
    many = {"type": "object", "properties": {f"property_{at}": {"type": "string"} for at in range(9000)}}
    answer = _by(pocket, many, limit=5)
    assert finished(answer).warnings[-1] == "The schema cannot be enforced; the answer is JSON."
    assert written(answer).startswith("{")
    tool = frames.CallableTool("get", json.dumps(many))
    answer = _ask(pocket, frames.ToolCalls((tool,), parallel=False), limit=5)
    assert finished(answer).warnings == ("The tools' parameters cannot be enforced; any may be given.",)


@pytest.mark.parametrize(
    "link",
    [
        lambda following: following,
        lambda following: {"type": "array", "items": following},
        lambda following: {"type": "object", "properties": {"a": following}},
        lambda following: {"anyOf": [following, {"type": "null"}]},
        lambda following: {"allOf": [following, {"minimum": 1}]},
    ],
)
def test_a_long_chain_of_references_harms_no_worker(pocket: Loaded, link: Any) -> None:
    chain: dict[str, Any] = {f"a{at}": link({"$ref": f"#/$defs/a{at + 1}"}) for at in range(3000)}
    chain = {"$defs": {**chain, "a3000": {"type": "integer"}}}
    end = _by(pocket, {**chain, "$ref": "#/$defs/a0"}, limit=5)[-1]
    assert isinstance(end, frames.Finished) or (
        isinstance(end, frames.Failed) and isinstance(end.fault, SamplingInvalid)
    )
    tool = frames.CallableTool("get", json.dumps({**chain, "properties": {"a": {"$ref": "#/$defs/a0"}}}))
    assert finished(_ask(pocket, frames.ToolCalls((tool,), parallel=False), limit=5))


def test_references_that_multiply_are_let_go_in_a_moment(pocket: Loaded) -> None:
    """Followed to their end they would be 2 ** 64 schemas."""
    twice = [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]
    for either in (
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"allOf": twice, "$defs": {"a": {"allOf": twice, "properties": {"b": {"allOf": twice}}}}},
        {"$defs": {"a": {"anyOf": [{"allOf": twice}, {"allOf": twice}]}}, "properties": {"b": {"allOf": twice}}},
    ):
        tool = frames.CallableTool("get", json.dumps(either))
        for grammar in (frames.JsonSchema(json.dumps(either)), frames.ToolCalls((tool,), parallel=False)):
            started = time.monotonic()
            assert finished(_ask(pocket, grammar, limit=2)).reason in ("length", "stop")
            assert time.monotonic() - started < 5, either


def test_a_schema_is_never_refused_whatever_it_holds(pocket: Loaded) -> None:
    session = pocket.service._session
    assert session is not None
    draw = random.Random(19)
    for number in range(400):
        wanted = json.dumps(nonsense(draw))
        tools = (frames.CallableTool("get", wanted), _tool("put"))
        thought: frames.Thought = ("off", "allowed", "open")[number % 3]
        for grammar in (frames.JsonSchema(wanted), frames.ToolCalls(tools, parallel=number % 2 == 0)):
            made = session.sampler(frames.Sampling(grammar=grammar, thought=thought))
            assert made.constraint is not None, wanted
            assert not made.constraint.is_over, wanted


def test_a_panic_of_the_library_is_a_schema_that_cannot_be_enforced(
    pocket: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    matcher = constraint.LLMatcher

    class PanicError(BaseException):
        pass

    class Panicking:
        grammar_from_lark = matcher.grammar_from_lark

        def __new__(cls, tokenizer: Any, grammar: str, log_level: int) -> Any:
            if "minItems" in grammar:
                raise PanicError
            return matcher(tokenizer, grammar, log_level=log_level)

    monkeypatch.setattr(constraint, "LLMatcher", Panicking)
    answer = _by(pocket, {"type": "array", "minItems": 2}, limit=3)
    assert finished(answer).warnings == ("The schema cannot be enforced; the answer is JSON.",)


def test_a_cancel_is_heard_while_a_grammar_compiles(pocket: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    compiles, over = threading.Event(), threading.Event()

    class Endless:
        grammar_from_lark = constraint.LLMatcher.grammar_from_lark

        def __init__(self, *_: Any, **__: Any) -> None:
            compiles.set()
            over.wait(60)

    monkeypatch.setattr(constraint, "LLMatcher", Endless)
    pocket.pipe.cancel_when = compiles.is_set
    started = time.monotonic()
    answer = _by(pocket, {"const": 1})
    over.set()
    assert (finished(answer).reason, pieces(answer)) == ("cancelled", [])
    assert time.monotonic() - started < 5
    monkeypatch.undo()
    pocket.pipe.reset()
    assert finished(_by(pocket, {"const": 1})).reason == "stop"


def test_a_first_grammar_takes_no_longer_than_a_second_at_the_familys_vocabulary(pocket_folder: Path) -> None:
    rows = 262_144
    tokenizer = json.loads((pocket_folder / "tokenizer.json").read_text())
    known = tokenizer["model"]["vocab"]
    known |= {f"\u2581{number:x}q": len(known) + number for number in range(rows - len(known))}
    grammars = Grammars(Vocabulary(tokenizer), rows, {1})
    grammars.wait()
    took = []
    for _ in range(2):
        started = time.monotonic()
        grammars.compile(frames.JsonObject(), "off")
        took.append(time.monotonic() - started)
    assert took[0] < took[1] + 0.3, took


def test_a_grammar_that_comes_before_all_is_made_can_be_cancelled(
    pocket: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = pocket.service._session
    assert session is not None
    over = threading.Event()
    monkeypatch.setattr(constraint, "TokenizerWrapper", lambda _: over.wait(60))
    grammars = Grammars(session._model.vocabulary, session.facts.vocabulary_tokens, {1})
    with pytest.raises(CancelledError):
        grammars.compile(frames.JsonObject(), "off", lambda: True)
    over.set()


def test_a_tool_may_have_hundreds_of_properties(pocket: Loaded) -> None:
    for count, warnings in (
        (500, ()),
        (4000, ('The keywords "properties" of the tools\' parameters are not enforced.',)),
    ):
        properties: dict[str, Any] = {f"p{at}": {} for at in range(count)}
        tool = frames.CallableTool("get", json.dumps({"properties": properties}))
        answer = _ask(pocket, frames.ToolCalls((tool,), parallel=False), limit=12, temperature=20.0)
        assert finished(answer).warnings == warnings


def _takes(pocket: Loaded, sampling: frames.Sampling, *parts: str) -> bool:
    """Whether a grammar takes this text and these control tokens, and is then at its end."""
    session = pocket.service._session
    assert session is not None
    constraint = session.sampler(sampling).constraint
    assert constraint is not None
    vocabulary = session._model.vocabulary
    try:
        for part in parts:
            control = vocabulary.control(part)
            for token in vocabulary.encode_text(part) if control is None else [control]:
                constraint.take(token)
    except FaultError:
        return False
    return constraint.is_over


def test_a_schema_that_holds_itself_is_followed(pocket: Loaded) -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "leaf": {"type": "boolean"}}, "required": ["leaf"]}
    grammar = frames.ToolCalls((frames.CallableTool("get", json.dumps(tree)),), parallel=False)
    for number in range(5):
        [(_, found)] = calls(pieces(_ask(pocket, grammar, number)))
        while found:
            assert isinstance(found["leaf"], bool)
            found = found.get("left", {})


@pytest.mark.parametrize(
    ("grammar", "what"),
    [
        (frames.JsonSchema("{"), "no JSON or nested too deep"),
        (frames.JsonSchema("[" * 100_000), "no JSON or nested too deep"),
        (frames.JsonSchema('{"a":' * 5000 + "1" + "}" * 5000), "no JSON or nested too deep"),
        (frames.JsonSchema("[]"), "no JSON object"),
        (frames.JsonSchema("true"), "no JSON object"),
        (frames.ToolCalls((), parallel=True), "at least one tool"),
        (frames.ToolCalls((frames.CallableTool("get", "7"),), parallel=True), "no JSON object"),
    ],
)
def test_what_is_no_grammar_is_refused_and_the_next_request_works(
    pocket: Loaded, grammar: frames.Grammar, what: str
) -> None:
    fault = failed(_ask(pocket, grammar))
    assert isinstance(fault, SamplingInvalid)
    assert fault.field == ("grammar.schema_json" if isinstance(grammar, frames.JsonSchema) else "grammar.tools")
    assert what in fault.what
    assert finished(pocket.ask(generate(prompt(user("hello."))))).reason == "stop"


def test_a_grammar_does_not_last_beyond_its_answer(pocket: Loaded) -> None:
    plain = written(pocket.ask(generate(ASKED)))
    first = _by(pocket, {"const": 1})
    assert written(_by(pocket, {"const": 1})) == written(first)
    assert written(pocket.ask(generate(ASKED))) == plain


def test_the_mask_leaves_the_allowed_logits_and_nothing_else(pocket: Loaded) -> None:
    session = pocket.service._session
    assert session is not None
    constraint = session.sampler(frames.Sampling(grammar=frames.JsonObject())).constraint
    assert constraint is not None
    rows = session.facts.vocabulary_tokens
    logits = mx.arange(rows, dtype=mx.float32)[None]
    masked: Any = constraint.apply(logits).tolist()
    vocabulary = session._model.vocabulary
    assert {vocabulary.token_bytes(at) for at, each in enumerate(masked[0]) if each == at} == {b"{"}


def test_scores_under_a_grammar_are_the_models_own(pocket: Loaded) -> None:
    answer = _by(pocket, {"const": 7}, logprobs=3)
    [scored, *_] = [piece for piece in pieces(answer) if isinstance(piece, frames.Scored)]
    assert scored.text == "7"
    assert scored.tokens[0].logprob < scored.tokens[0].top[0].logprob
