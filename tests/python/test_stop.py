"""Stop texts: found across every border, and nothing held back for longer than it must be."""

import itertools
import random

import pytest
from conftest import Loaded
from conversation import finished, generate, pieces, prompt, user, written

from hangar_worker import frames
from hangar_worker.output import Output
from hangar_worker.sampling import Choice
from hangar_worker.stop import StopTexts
from hangar_worker.tokens import Vocabulary

GREEDY_ANSWER = "the code is amber lantern seven.<turn|>"


@pytest.fixture
def vocabulary(pocket: Loaded) -> Vocabulary:
    assert pocket.service._session is not None
    return pocket.service._session._model.vocabulary


def _shown(stops: list[str], cut: list[str]) -> tuple[str, bool]:
    texts = StopTexts(stops)
    shown = "".join(texts.push(part) for part in cut)
    return shown + texts.flush(), texts.found


def _first(stops: list[str], text: str) -> tuple[str, bool]:
    """By the words of the rule: the stop text that is complete first, of those complete at once the longest."""
    for end in range(len(text) + 1):
        starts = [end - len(stop) for stop in stops if text[:end].endswith(stop)]
        if starts:
            return text[: min(starts)], True
    return text, False


def test_what_is_shown_does_not_depend_on_how_the_text_is_cut() -> None:
    draw = random.Random(5)
    for _ in range(3000):
        text = "".join(draw.choice("abé🙂") for _ in range(draw.randint(0, 12)))
        stops = ["".join(draw.choice("abé🙂") for _ in range(draw.randint(1, 4))) for _ in range(draw.randint(1, 4))]
        marks = sorted(draw.sample(range(len(text) + 1), min(len(text), draw.randint(0, 5))))
        cut = [text[a:b] for a, b in itertools.pairwise([0, *marks, len(text)])]
        assert _shown(stops, cut) == _first(stops, text), (stops, cut)


@pytest.mark.parametrize(
    ("stops", "parts", "shown"),
    [
        (["own fox"], ["The quick br", "own", " fox", " jumps"], "The quick br"),
        (["\nUser:"], ["Hi", "\nUser", ":", " x"], "Hi"),
        (["own fox"], ["abc", "ow"], "abcow"),
        (["zz", "b"], ["aazb", "c"], "aaz"),
        (["🛑"], ["go ", "🛑", " no"], "go "),
    ],
)
def test_nothing_of_a_stop_text_or_behind_it_is_shown(stops: list[str], parts: list[str], shown: str) -> None:
    assert _shown(stops, parts)[0] == shown


def test_only_what_may_begin_a_stop_text_is_held_back() -> None:
    texts = StopTexts(["END", "\n\n"])
    assert texts.push("one E") == "one "
    assert texts.push("Nough\n") == "ENough"
    assert texts.push("two") == "\ntwo"
    assert texts.push("EN") == ""
    assert texts.flush() == "EN"
    assert texts.push("x") == "x"


def test_without_stop_texts_everything_is_shown_at_once() -> None:
    assert StopTexts([]).push("text") == "text"


def _code(pocket: Loaded, **sampling: object) -> list[frames.FromWorker]:
    asked = prompt(user("remember this code: amber lantern seven."), user("what is the code?"))
    return pocket.ask(generate(asked, sampling=frames.Sampling(temperature=0.0, **sampling)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stop", "left"),
    [
        (("lantern",), "the code is amber "),
        (("r l",), "the code is ambe"),
        (("seven.", "the"), ""),
        (("nowhere", "tern s"), "the code is amber lan"),
        (("seven.\n",), GREEDY_ANSWER),
        (("<turn|>",), GREEDY_ANSWER),
        (("zzz",), GREEDY_ANSWER),
    ],
)
def test_an_answer_ends_before_a_stop_text(pocket: Loaded, stop: tuple[str, ...], left: str) -> None:
    assert written(_code(pocket)) == GREEDY_ANSWER
    answer = _code(pocket, stop=stop)
    assert written(answer) == left
    end = finished(answer)
    assert end.reason == ("stop" if left == GREEDY_ANSWER else "stop_text")
    assert end.tokens.completion_tokens <= finished(_code(pocket)).tokens.completion_tokens


def test_every_part_of_an_answer_can_stop_it(pocket: Loaded) -> None:
    text = GREEDY_ANSWER.removesuffix("<turn|>")
    for start in range(0, len(text), 4):
        for length in (1, 4):
            stop = text[start : start + length]
            assert written(_code(pocket, stop=(stop,))) == text[: text.find(stop)]


def test_text_held_back_is_sent_when_the_tokens_run_out(pocket: Loaded) -> None:
    asked = prompt(user("remember this code: amber lantern seven."), user("what is the code?"))
    for limit in range(1, 5):
        plain = pocket.ask(generate(asked, limit))
        held = pocket.ask(
            generate(asked, limit, frames.Sampling(temperature=0.0, stop=("the code is amber lantern seven.!",)))
        )
        assert finished(held).reason == "length"
        assert written(held) == written(plain)


def _decoded(vocabulary: Vocabulary, ids: list[int], sampling: frames.Sampling) -> list[frames.Piece]:
    output = Output(vocabulary, sampling)
    made: list[frames.Piece] = []
    for token in ids:
        made += output.push(_UNSCORED, token)
        if output.stopped:
            break
    return [*made, *output.finish()]


_UNSCORED = Choice(token=None, score=None)  # type: ignore[arg-type]


def test_a_stop_text_never_cuts_a_character(vocabulary: Vocabulary) -> None:
    for text in ("naïve 🙂 end", "日本語のテキスト"):
        ids = vocabulary.encode_text(text)
        for at, character in enumerate(text):
            sampling = frames.Sampling(stop=(text[at : at + 2],))
            shown = "".join(
                piece.text for piece in _decoded(vocabulary, ids, sampling) if isinstance(piece, frames.Text)
            )
            assert shown == text[: text.find(text[at : at + 2])], character


def _ids(vocabulary: Vocabulary, *parts: str) -> list[int]:
    ids: list[int] = []
    for part in parts:
        control = vocabulary.control(part)
        ids += vocabulary.encode_text(part) if control is None else [control]
    return ids


@pytest.mark.parametrize(
    ("parts", "thought", "left"),
    [
        (["<|channel>", "a stop b", "<channel|>", "one stop two"], "allowed", "<|channel>a stop b<channel|>one "),
        (["a stop b", "<channel|>", "one stop two"], "open", "a stop b<channel|>one "),
        (["<|tool_call>", "call:stop{}", "<tool_call|>", "stop"], "off", "<|tool_call>call:stop{}<tool_call|>"),
        (["one st", "<|turn>", "op two"], "off", "one st<|turn>op two"),
    ],
)
def test_stop_texts_are_looked_for_in_visible_text_only(
    vocabulary: Vocabulary, parts: list[str], thought: frames.Thought, left: str
) -> None:
    made = _decoded(vocabulary, _ids(vocabulary, *parts), frames.Sampling(stop=("stop",), thought=thought))
    assert "".join(piece.token if isinstance(piece, frames.Control) else piece.text for piece in made) == left


def test_pieces_are_still_sent_token_by_token(pocket: Loaded) -> None:
    assert pieces(_code(pocket, stop=("zzz",))) == pieces(_code(pocket))
