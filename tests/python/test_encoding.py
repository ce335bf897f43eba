"""Long text: cut into pieces without changing an id, refused by its length, given up when nobody wants it."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Loaded
from conversation import failed, finished, generate, prompt, user

from hangar_worker import encoding, frames
from hangar_worker.faults import ContextLengthExceeded, FaultError
from hangar_worker.prompt import MediaTokens, Room, tokenize
from hangar_worker.tokens import Vocabulary

ALPHABETS = [
    "ab",
    "ab \n",
    "abcdefghij  \n\t.,",
    "aé日本語 \u2581",
    "🙂👩‍👧a ",
    "".join(map(chr, range(0x20, 0x250))) + "日本語テスト🙂🎉\u0301\u200d\n\x00",
]


@pytest.fixture(scope="module")
def tokenizer_json(pocket_folder: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((pocket_folder / "tokenizer.json").read_text())
    return parsed


def _merging(tokenizer_json: dict[str, Any], chance: random.Random, letters: str, merges: int) -> dict[str, Any]:
    """The tokenizer with merges drawn at random, in random order, across spaces and bytes too."""
    model = tokenizer_json["model"]
    vocab = {name: number for name, number in model["vocab"].items() if name.startswith("<")}
    units = [letter.replace(" ", "\u2581") for letter in letters if chance.random() < 0.8] or ["a"]
    units += [f"<0x{byte:02X}>" for byte in (0xF0, 0x9F, 0x99, 0x82) if chance.random() < 0.5]
    pairs: dict[tuple[str, str], None] = {}
    for unit in units:
        vocab.setdefault(unit, len(vocab) + 1000)
    for _ in range(merges):
        left, right = chance.choice(units), chance.choice(units)
        if len(left + right) <= 16:
            vocab.setdefault(left + right, len(vocab) + 1000)
            pairs[left, right] = None
            units.append(left + right)
    drawn = [list(pair) for pair in pairs]
    chance.shuffle(drawn)
    numbered = {name: at for at, name in enumerate(vocab)}
    added = [{**each, "id": numbered[each["content"]]} for each in tokenizer_json["added_tokens"]]
    return {**tokenizer_json, "added_tokens": added, "model": {**model, "vocab": numbered, "merges": drawn}}


def _joined(vocabulary: Vocabulary, text: str) -> tuple[list[int], int]:
    pieces = list(vocabulary.encode_pieces(text))
    return [token for piece in pieces for token in piece], len(pieces)


@pytest.mark.parametrize("letters", ALPHABETS, ids=range(len(ALPHABETS)))
def test_pieces_joined_are_the_ids_of_the_whole_whatever_the_merges(
    tokenizer_json: dict[str, Any], monkeypatch: pytest.MonkeyPatch, letters: str
) -> None:
    chance = random.Random(5)
    monkeypatch.setattr(encoding, "_MARGIN_CHARACTERS", 2)
    cut = 0
    for _ in range(60):
        own = _merging(tokenizer_json, chance, letters, chance.choice([5, 30, 200]))
        # The shortest margin there can be: without added tokens.
        own["added_tokens"] = [] if chance.random() < 0.5 else own["added_tokens"]
        vocabulary = Vocabulary(own)
        for length in (0, 1, 50, 300):
            monkeypatch.setattr(encoding, "PIECE_CHARACTERS", chance.choice([5, 17, 40]))
            text = "".join(chance.choice(letters) for _ in range(length))
            ids, pieces = _joined(vocabulary, text)
            assert ids == vocabulary.encode_text(text)
            cut += pieces > 1
    assert cut > 60


def test_pieces_joined_are_the_ids_of_the_whole_with_control_tokens_spelled_in_them(
    tokenizer_json: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(6)
    ordinary = {**tokenizer_json["added_tokens"][-1], "id": 704, "content": "lantern ", "special": False}
    vocabulary = Vocabulary({**tokenizer_json, "added_tokens": [*tokenizer_json["added_tokens"], ordinary]})
    parts = [
        "<|turn>",
        "<turn|>",
        "<|tool_response>",
        "<unused7>",
        "amber ",
        "lantern ",
        "lante",
        "\n",
        "🙂",
        "<",
        "|>",
    ]
    monkeypatch.setattr(encoding, "PIECE_CHARACTERS", 90)
    for _ in range(300):
        text = "".join(chance.choice(parts) for _ in range(60))
        ids, pieces = _joined(vocabulary, text)
        assert pieces > 1
        assert ids == vocabulary.encode_text(text)
        assert (704 in ids) == ("lantern " in text)


@pytest.mark.parametrize(
    "text", ["hello " * 9000, "a" * 50_000, "日本語" * 9000, "🙂" * 20_000, "\n" * 40_000, " " * 40_000]
)
def test_pieces_of_monotonous_text_stay_short(tokenizer_json: dict[str, Any], text: str) -> None:
    vocabulary = Vocabulary(tokenizer_json)
    ids, pieces = _joined(vocabulary, text)
    assert ids == vocabulary.encode_text(text)
    assert pieces >= len(text) // encoding.PIECE_CHARACTERS


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Prepend", "prepend": "\u2581"}},
        {"pre_tokenizer": {"type": "Whitespace"}},
    ],
)
def test_text_of_a_tokenizer_that_cannot_be_cut_is_encoded_whole(
    tokenizer_json: dict[str, Any], change: dict[str, Any]
) -> None:
    vocabulary = Vocabulary({**tokenizer_json, **change})
    ids, pieces = _joined(vocabulary, "hello " * 5000)
    assert (ids, pieces) == (vocabulary.encode_text("hello " * 5000), 1)
    assert vocabulary.least_tokens(10**9) == 0


@pytest.mark.parametrize("letters", ALPHABETS, ids=range(len(ALPHABETS)))
def test_the_lower_bound_by_length_is_never_above_the_count(tokenizer_json: dict[str, Any], letters: str) -> None:
    chance = random.Random(7)
    for _ in range(40):
        vocabulary = Vocabulary(_merging(tokenizer_json, chance, letters, 100))
        text = "".join(chance.choice(letters) for _ in range(200))
        assert 0 < vocabulary.least_tokens(encoding.text_bytes(text)) <= len(vocabulary.encode_text(text))


def test_an_impossible_prompt_is_refused_by_its_length_before_it_is_encoded(
    tokenizer_json: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = Vocabulary(tokenizer_json)
    monkeypatch.setattr(Vocabulary, "encode_pieces", lambda *_: pytest.fail("encoded"))
    text = "hello " * 1_000_000
    asked = frames.Prompt((frames.Group((frames.Text(text),)),), ())
    with pytest.raises(FaultError) as caught:
        tokenize(asked, vocabulary, MediaTokens(None, None, frozenset()), None, Room(4096, 10))  # type: ignore[arg-type]
    least = vocabulary.least_tokens(len(text))
    assert caught.value.fault == ContextLengthExceeded(least, 10, 4096)
    assert 4096 < least < 6_000_000


def test_twenty_megabytes_are_refused_at_once_and_logged_as_the_clients_fault(
    pocket: Loaded, capfd: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    fault = failed(pocket.ask(generate(prompt(user("hello " * 3_400_000)), 10)))
    assert time.monotonic() - started < 1
    assert isinstance(fault, ContextLengthExceeded)
    [line] = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert (line["level"], line["event"], line["code"]) == ("info", "request_failed", "ContextLengthExceeded")


def _long_window(loaded: Loaded, monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    assert loaded.service._session is not None
    monkeypatch.setattr(loaded.service._session, "window_tokens", tokens)


def test_tokenising_stops_as_soon_as_the_window_is_passed(pocket: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _watched_pieces(monkeypatch)
    _long_window(pocket, monkeypatch, 100_000)
    fault = failed(pocket.ask(generate(prompt(user("🙂" * 200_000)), 10)))
    assert isinstance(fault, ContextLengthExceeded)
    assert fault.prompt_tokens > 99_990
    assert 4 <= seen() <= 9


def test_a_cancel_while_tokenising_ends_as_cancelled_within_100_ms(
    pocket: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    _long_window(pocket, monkeypatch, 100_000_000)
    asked = generate(prompt(user("hello " * 1_700_000)), 10)
    started = time.monotonic()
    cancelled_at = started + 0.3
    pocket.pipe.cancel_when = lambda: time.monotonic() > cancelled_at
    end = finished(pocket.ask(asked))
    assert (end.reason, end.tokens.completion_tokens) == ("cancelled", 0)
    assert 0 < time.monotonic() - cancelled_at < 0.1


def test_the_phase_says_prefill_while_a_prompt_is_tokenised(pocket: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    phases: list[tuple[str, int | None, int, int]] = []
    right = Vocabulary.encode_pieces

    def watched(self: Vocabulary, text: str) -> Any:
        phases.append(pocket.pipe.phases[-1])
        return right(self, text)

    monkeypatch.setattr(Vocabulary, "encode_pieces", watched)
    pocket.ask(generate(prompt(user("hi")), 1, request=9))
    assert set(phases) == {("prefill", 9, 0, 0)}


def _watched_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many pieces were encoded since."""
    made: list[int] = []
    right = Vocabulary.encode_pieces

    def counted(self: Vocabulary, text: str) -> Any:
        for piece in right(self, text):
            made.append(len(piece))
            yield piece

    monkeypatch.setattr(Vocabulary, "encode_pieces", counted)
    return lambda: sum(1 for length in made if length > 1000)
