"""What the server renders, tokenised by the worker, against the model's own template tokenised whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from hangar_worker.tokens import Vocabulary

TESTS = Path(__file__).resolve().parents[2] / "src-tauri" / "crates" / "gemma" / "tests"
MEDIA = {"image": "<|image|>", "audio": "<|audio|>"}


def _ours() -> list[dict[str, Any]]:
    snapshot = TESTS / "snapshots" / "golden__segments_of_every_history_stay_as_they_are.snap"
    _, _, lines = snapshot.read_text(encoding="utf-8").split("---\n", 2)
    return [json.loads(line) for line in lines.strip("\n").split("\n")]


TEMPLATE: dict[str, str] = {
    case["name"]: case["expected"]
    for case in json.loads((TESTS / "golden" / "render.json").read_text(encoding="utf-8"))
}
CASES = {case["name"]: case for case in _ours()}


@pytest.fixture(scope="module")
def vocabulary(pocket_folder: Path) -> Vocabulary:
    return Vocabulary(json.loads((pocket_folder / "tokenizer.json").read_text()))


@pytest.fixture(scope="module")
def tokenizer(pocket_folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(pocket_folder / "tokenizer.json"))


def _ids(case: dict[str, Any], vocabulary: Vocabulary) -> list[int]:
    ids: list[int] = []
    for segment in (segment for group in case["groups"] for segment in group):
        match segment:
            case {"text": text}:
                ids += vocabulary.encode_text(text)
            case {"control": name}:
                ids.append(_control(name, vocabulary))
            case _:
                ids.append(_control(MEDIA[next(iter(segment))], vocabulary))
    return ids


def _control(name: str, vocabulary: Vocabulary) -> int:
    token = vocabulary.control(name)
    assert token is not None, name
    return token


def _spells_markup(case: dict[str, Any]) -> bool:
    return "spelled" in case["name"]


def test_both_files_hold_the_same_histories() -> None:
    assert CASES.keys() == TEMPLATE.keys()
    assert sum(not case["differs"] and not _spells_markup(case) for case in CASES.values()) >= 40


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case["differs"]])
def test_ids_are_those_of_the_template_as_long_as_nobody_spells_markup(
    name: str, vocabulary: Vocabulary, tokenizer: Tokenizer
) -> None:
    ours = _ids(CASES[name], vocabulary)
    template = tokenizer.encode(TEMPLATE[name], add_special_tokens=False).ids
    assert (ours == template) is not _spells_markup(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_nothing_but_our_own_control_segments_becomes_a_control_token(name: str, vocabulary: Vocabulary) -> None:
    segments = [segment for group in CASES[name]["groups"] for segment in group]
    written = [segment.get("control", MEDIA.get(next(iter(segment)))) for segment in segments if "text" not in segment]
    found = [vocabulary.control_name(token) for token in _ids(CASES[name], vocabulary)]
    assert [control for control in found if control is not None] == written
    for segment in segments:
        if "text" in segment:
            encoded = vocabulary.encode_text(segment["text"])
            assert b"".join(map(vocabulary.text_bytes, encoded)).decode() == segment["text"]
