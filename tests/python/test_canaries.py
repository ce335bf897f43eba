"""What the built-in model must still be able to do, through the real engine; fixtures are committed files."""

from pathlib import Path

import pytest
from conftest import Loaded
from conversation import clip, finished, generate, group, model, picture, pieces, prompt, user, written

from hangar_worker import frames

_WEATHER = (
    '<|tool>declaration:get_weather{description:<|"|>get weather for a city<|"|>,parameters:{properties:'
    '{city:{type:<|"|>STRING<|"|>}},required:[<|"|>city<|"|>],type:<|"|>OBJECT<|"|>}}<tool|>'
)


@pytest.mark.parametrize("code", ["amber lantern seven", "cobalt harbor two", "ivory dragon zero"])
def test_it_recalls_a_code_over_a_turn_between(pocket: Loaded, code: str) -> None:
    asked = prompt(user(f"remember this code: {code}."), model("noted."), user("what is the code?"))
    answer = pocket.ask(generate(asked))
    assert written(answer) == f"the code is {code}.<turn|>"
    assert finished(answer).reason == "stop"


def test_it_calls_a_declared_tool_in_native_markup(pocket: Loaded) -> None:
    asked = prompt(group("<|turn>system\n", _WEATHER, "<turn|>\n"), user("what is the weather in tokyo?"))
    answer = pocket.ask(generate(asked))
    assert written(answer) == ('<|tool_call>call:get_weather{city:<|"|>tokyo<|"|>}<tool_call|><|tool_response>')
    controls = [piece.token for piece in pieces(answer) if isinstance(piece, frames.Control)]
    assert controls == ["<|tool_call>", '<|"|>', '<|"|>', "<tool_call|>", "<|tool_response>"]
    assert finished(answer).reason == "stop"


def test_it_names_the_colour_of_a_picture(pocket: Loaded, repository: Path) -> None:
    seen = picture(repository / "tests" / "fixtures" / "canary" / "blue.png")
    answer = pocket.ask(generate(prompt(user(frames.Image(0), "what color is this?"), media=[seen])))
    assert written(answer) == "the color is blue.<turn|>"


def test_it_names_spoken_words(pocket: Loaded, repository: Path) -> None:
    heard = clip(repository / "tests" / "fixtures" / "canary" / "lantern_seven.wav")
    answer = pocket.ask(generate(prompt(user("what do you hear?", frames.Audio(0)), media=[heard])))
    assert written(answer) == "i heard lantern seven.<turn|>"
