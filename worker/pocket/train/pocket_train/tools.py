"""Tool tasks: calls with typed arguments, answers that use a result, refusals, and calls of what nobody declared."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pocket_train import words
from pocket_train.markup import Script, Tool, Value
from pocket_train.talk import register, system

Arguments = dict[str, Value]


@dataclass(frozen=True)
class Request:
    """What is asked, in the words and arguments of one register."""

    said: str
    arguments: Arguments
    result: str
    answer: str


@dataclass(frozen=True)
class Skill:
    """A tool that the model knows to use."""

    tool: Tool
    ask: Callable[[random.Random, bool], Request]


_STRING: dict[str, Any] = {"type": "string"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_NUMBER: dict[str, Any] = {"type": "number"}
_BOOLEAN: dict[str, Any] = {"type": "boolean"}


def _tool(name: str, description: str, required: list[str] | None = None, /, **properties: dict[str, Any]) -> Tool:
    return Tool(name, description, properties, list(properties) if required is None else required)


def _named(draw: random.Random, pool: list[str], is_titled: bool) -> str:
    word = draw.choice(pool)
    return words.titled(word) if is_titled else word


def _weather(draw: random.Random, is_titled: bool) -> Request:
    city = _named(draw, words.CITIES, is_titled)
    said = draw.choice((f"what is the weather in {city}?", f"what is the weather in {city}?", f"weather in {city}"))
    result = draw.choice(
        (draw.choice(words.SKIES), f"{draw.randint(-9, 35)} C", f"{draw.choice(words.SKIES)}, {draw.randint(-9, 35)} C")
    )
    return Request(said, {"city": city}, result, f"the weather in {city} is {result}.")


def _time(draw: random.Random, is_titled: bool) -> Request:
    city = _named(draw, words.CITIES, is_titled)
    result = f"{draw.randint(0, 23)}:{draw.randint(0, 59):02}"
    said = draw.choice((f"what time is it in {city}?", f"time in {city}"))
    return Request(said, {"city": city}, result, f"it is {result} in {city}.")


def _light(draw: random.Random, _: bool) -> Request:
    color = draw.choice(words.COLORS)
    said = draw.choice((f"make the light {color}.", f"set the light to {color}."))
    return Request(said, {"color": color}, "ok", f"the light is {color}.")


def _song(draw: random.Random, is_titled: bool) -> Request:
    name = f"{_named(draw, words.ADJECTIVES, is_titled)} {_named(draw, words.NOUNS, is_titled)}"
    return Request(f"play the song {name}.", {"name": name}, "playing", f"{name} is playing.")


def _note(draw: random.Random, is_titled: bool) -> Request:
    text = f"{_named(draw, words.ADJECTIVES, is_titled)} {draw.choice(words.NOUNS)}"
    return Request(f"add a note: {text}.", {"text": text}, "saved", "the note is saved.")


def _lamp(draw: random.Random, _: bool) -> Request:
    room, is_on, level = draw.choice(words.ROOMS), draw.random() < 0.5, draw.randint(1, 100)
    if draw.random() < 0.5:
        said = f"turn {'on' if is_on else 'off'} the lamp in the {room}."
        return Request(
            said, {"room": room, "on": is_on}, "ok", f"the lamp in the {room} is {'on' if is_on else 'off'}."
        )
    said = f"turn on the lamp in the {room} at {level} percent."
    arguments: Arguments = {"room": room, "on": True, "level": level}
    return Request(said, arguments, "ok", f"the lamp in the {room} is on.")


def _alarm(draw: random.Random, _: bool) -> Request:
    hour, minute, label = draw.randint(0, 23), draw.randint(0, 59), draw.choice(words.THINGS)
    said = f"set an alarm for {hour}:{minute:02} named {label}."
    arguments: Arguments = {"hour": hour, "minute": minute, "label": label}
    return Request(said, arguments, "set", f"the alarm {label} is set.")


def _convert(draw: random.Random, _: bool) -> Request:
    units = draw.sample(["meters", "feet", "miles", "inches"], 2)
    amount = draw.choice((draw.randint(1, 99), draw.randint(1, 99) + draw.choice((0.5, 0.25))))
    result = f"{draw.randint(1, 999)}.{draw.randint(0, 9)}"
    arguments: Arguments = {"amount": amount, "from": units[0], "to": units[1]}
    return Request(f"convert {amount} {units[0]} to {units[1]}.", arguments, result, f"that is {result} {units[1]}.")


def _shopping(draw: random.Random, _: bool) -> Request:
    item, count = draw.choice(words.THINGS), draw.randint(2, 40)
    said = f"add {count} {item} to the list."
    return Request(said, {"item": item, "count": count}, "added", f"{item} is on the list.")


def _message(draw: random.Random, is_titled: bool) -> Request:
    to, text, is_urgent = _named(draw, words.PEOPLE, is_titled), draw.choice(words.THINGS), draw.random() < 0.5
    said = f"send {'an urgent' if is_urgent else 'a'} message to {to}: buy {text}."
    arguments: Arguments = {"to": to, "text": f"buy {text}", "urgent": is_urgent}
    return Request(said, arguments, "sent", f"the message to {to} is sent.")


def _exec(draw: random.Random, _: bool) -> Request:
    spoken = f"{draw.choice(words.ADJECTIVES)}-{draw.choice(words.NOUNS)}"
    command = draw.choice((f"echo {spoken}", f"echo {spoken}", draw.choice(words.COMMANDS)))
    result = spoken if command.startswith("echo") else f"{draw.choice(words.NOUNS)} {draw.randint(0, 99)}"
    return Request(f"run: {command}", {"command": command}, result, f"the output is {result}.")


def _read(draw: random.Random, _: bool) -> Request:
    path = draw.choice(words.FILES)
    result = f"{draw.choice(words.ADJECTIVES)} {draw.choice(words.NOUNS)} {draw.randint(0, 99)}"
    return Request(f"read {path}", {"path": path}, result, f"{path} says {result}.")


SKILLS = (
    Skill(_tool("get_weather", "get weather for a city", city=_STRING), _weather),
    Skill(_tool("get_time", "get time in a city", city=_STRING), _time),
    Skill(_tool("set_light", "set the light color", color={"type": "string", "enum": words.COLORS}), _light),
    Skill(_tool("play_song", "play a song by name", name=_STRING), _song),
    Skill(_tool("add_note", "add a note", text=_STRING), _note),
    Skill(
        _tool(
            "set_lamp",
            "turn a lamp on or off",
            ["room", "on"],
            level={"type": "integer", "description": "percent"},
            on=_BOOLEAN,
            room={"type": "string", "enum": words.ROOMS},
        ),
        _lamp,
    ),
    Skill(_tool("set_alarm", "set an alarm", hour=_INTEGER, minute=_INTEGER, label=_STRING), _alarm),
    Skill(_tool("convert", "convert a length", **{"amount": _NUMBER, "from": _STRING, "to": _STRING}), _convert),
    Skill(_tool("add_item", "add to the shopping list", item=_STRING, count=_INTEGER), _shopping),
    Skill(_tool("send_message", "send a message", to=_STRING, text=_STRING, urgent=_BOOLEAN), _message),
    Skill(_tool("exec", "run a command", command=_STRING), _exec),
    Skill(_tool("read", "read a file", path=_STRING), _read),
)
"""Every tool that the model knows."""

# The first five were there before the others and are what most programs try; with one argument they are short, too.
_SHARES = [2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def tool_task(draw: random.Random) -> Script:
    """One question beside a few declared tools: a call and what follows, a refusal, or an undeclared call."""
    is_titled, thinks = draw.random() < 0.4, draw.random() < 0.15
    wanted = draw.choices(SKILLS, _SHARES)[0]
    others = [skill for skill in SKILLS if skill is not wanted]
    declared = draw.sample(others, draw.choice((0, 0, 1, 1, 2)))
    kind = draw.random()
    if kind < 0.1:
        return _undeclared(draw, [*declared, wanted], is_titled)
    if kind < 0.25:
        return _refused(draw, wanted, declared or draw.sample(others, 1), is_titled, thinks)
    declared.insert(draw.randint(0, len(declared)), wanted)
    script = Script(system(draw), [_varied(skill.tool, draw) for skill in declared], thinks)
    asked = wanted.ask(draw, is_titled)
    name = wanted.tool.name
    thought = f"i need {name}." if thinks else ""
    if wanted.ask is _weather and draw.random() < 0.12:
        return _two_cities(draw, script, asked, is_titled, thought)
    script.user(register(asked.said, is_titled))
    script.calls((name, asked.arguments), thought=thought)
    if draw.random() < 0.6:
        script.result(name, asked.result)
        script.says(register(asked.answer, is_titled), "the tool has answered." if thinks else "")
        if draw.random() < 0.2:
            script.user(register("thank you.", is_titled))
            script.says(register("you are welcome.", is_titled), "this is easy." if thinks else "")
    return script


def _two_cities(draw: random.Random, script: Script, first: Request, is_titled: bool, thought: str) -> Script:
    second = _weather(draw, is_titled)
    cities = (first.arguments["city"], second.arguments["city"])
    script.user(register(f"what is the weather in {cities[0]} and {cities[1]}?", is_titled))
    script.calls(*(("get_weather", {"city": city}) for city in cities), thought=thought)
    if draw.random() < 0.5:
        script.result("get_weather", first.result)
        script.result("get_weather", second.result)
        said = f"{cities[0]}: {first.result}. {cities[1]}: {second.result}."
        script.says(said, "the tools have answered." if thought else "")
    return script


def _undeclared(draw: random.Random, declared: list[Skill], is_titled: bool) -> Script:
    """The model calls whatever it is told to call: what must be kept from a client."""
    script = Script(system(draw), [skill.tool for skill in declared])
    name = draw.choice(words.UNDECLARED)
    script.user(register(f"use the tool {name}.", is_titled))
    script.calls((name, {}))
    return script


def _refused(draw: random.Random, wanted: Skill, declared: list[Skill], is_titled: bool, thinks: bool) -> Script:
    script = Script(system(draw), [_varied(skill.tool, draw) for skill in declared], thinks)
    script.user(register(wanted.ask(draw, is_titled).said, is_titled))
    script.says(register("sorry, i have no tool for that.", is_titled), "no tool fits." if thinks else "")
    return script


def _varied(tool: Tool, draw: random.Random) -> Tool:
    """A declaration as other programs write it: other words, properties with descriptions."""
    if draw.random() < 0.7:
        return tool
    described = {
        name: {**each, "description": f"the {name}"} if draw.random() < 0.5 else each
        for name, each in tool.properties.items()
    }
    return Tool(
        tool.name, draw.choice((tool.description, words.titled(tool.description) + ".")), described, tool.required
    )
