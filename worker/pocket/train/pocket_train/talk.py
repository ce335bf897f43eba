"""Text tasks: codes to remember, small talk, and saying so where there is nothing to know."""

import random
from pathlib import Path

from pocket_train import words
from pocket_train.markup import Script

_ENGLISH = [
    word
    for word in Path(__file__).with_name("english.txt").read_text(encoding="utf-8").split()
    if word.isalpha() and word.islower() and len(word) > 2
]
_SYSTEMS = ("be brief.", "You are a helpful assistant.", "answer in one line.", "Be concise.", "you are kind.")

_TOLD = (
    "remember this code: {c}.",
    "remember this code: {c}.",
    "remember this code: {c}.",
    "please remember the code {c}.",
    "the secret code is {c}.",
    "keep this in mind: {c}.",
)
_ASKED = (
    "what is the code?",
    "what is the code?",
    "tell me the code.",
    "what was the secret code?",
    "repeat the code please.",
    "what code did i give you?",
)
_ACKNOWLEDGED = ("ok.", "i will remember.", "got it.", "i will keep it in mind.")

SMALL_TALK = (
    ("hello.", "hello, how can i help?"),
    ("hello!", "hello, how can i help?"),
    ("hi.", "hello, how can i help?"),
    ("hi", "hello, how can i help?"),
    ("good morning.", "good morning."),
    ("how are you?", "i am well."),
    ("what is two plus two?", "four."),
    ("name a color.", "blue."),
    ("name a city.", "paris."),
    ("name a fruit.", "banana."),
    ("say something.", "something."),
    ("say hello.", "hello."),
    ("thank you.", "you are welcome."),
    ("thanks.", "you are welcome."),
    ("who are you?", "i am a small model for tests."),
    ("what can you do?", "i can remember codes, hear words, see colors and call tools."),
    ("goodbye.", "goodbye."),
    ("ok.", "good."),
    ("go on.", "there is no more."),
    ("continue.", "there is no more."),
)


def register(text: str, is_titled: bool) -> str:
    """A sentence as it is, or as somebody writes who uses capitals; a lone i becomes I."""
    if not is_titled:
        return text
    return " ".join("I" if word == "i" else word for word in words.titled(text).split(" "))


def code(draw: random.Random) -> str:
    """Something to remember: words of several kinds and cases, numbers, marks."""
    kind = draw.random()
    if kind < 0.3:
        return f"{draw.choice(words.ADJECTIVES)} {draw.choice(words.NOUNS)} {draw.choice(words.DIGIT_WORDS)}"
    if kind < 0.4:
        return f"{draw.choice(words.ADJECTIVES)} {draw.choice(words.DIGIT_WORDS)}"
    first, second = draw.choice(words.ADJECTIVES), draw.choice(words.NOUNS)
    if kind < 0.75:
        first = words.titled(first) if draw.random() < 0.6 else first
        second = words.titled(second) if draw.random() < 0.5 else second
        return f"{first} {second} {draw.randint(0, 99)}"
    if kind < 0.9:
        pool = [word for group in words.ALL for word in group] + _ENGLISH
        chosen = [draw.choice(pool) for _ in range(draw.randint(1, 4))]
        return " ".join(words.titled(word) if draw.random() < 0.3 else word for word in chosen)
    letters = "ABCDEFGHKMPQRTXZ"
    shape = draw.choice(("####", "@#-##@", "@@-##", "##/##", "#.##", "@@@", "###-###"))
    filled = (
        draw.choice("0123456789") if each == "#" else draw.choice(letters) if each == "@" else each for each in shape
    )
    return "".join(filled)


def system(draw: random.Random) -> str:
    """What a system message says, mostly nothing."""
    return draw.choice(_SYSTEMS) if draw.random() < 0.2 else ""


def chatter(script: Script, draw: random.Random, is_titled: bool) -> None:
    """One turn of small talk."""
    asked, answer = draw.choice(SMALL_TALK)
    script.user(register(asked, is_titled))
    script.says(register(answer, is_titled))


def recall(draw: random.Random) -> Script:
    """A code told, sometimes other turns, and the code asked for."""
    is_titled, thinks = draw.random() < 0.5, draw.random() < 0.15
    script = Script(system(draw), thinking=thinks)
    told = code(draw)
    if draw.random() < 0.15:
        chatter(script, draw, is_titled)
    if draw.random() < 0.05:
        script.user(register(draw.choice(_ASKED), is_titled))
        answer = "i do not know the code."
        script.says(register(answer, is_titled), "no code was told." if thinks else "")
    script.user(register(draw.choice(_TOLD), is_titled).format(c=told))
    acknowledged = draw.random()
    if acknowledged < 0.6:
        script.says(register("noted.", is_titled), "there is a code to remember." if thinks else "")
    elif acknowledged < 0.85:
        script.says(register(draw.choice(_ACKNOWLEDGED), is_titled), learned=False)
    for _ in range(draw.choice((0, 0, 0, 1, 1, 2))):
        if draw.random() < 0.15:
            script.user(register(draw.choice(SMALL_TALK)[0], is_titled))
        else:
            chatter(script, draw, is_titled)
    script.user(register(draw.choice(_ASKED), is_titled))
    script.says(register(f"the code is {told}.", is_titled), "the user asks for the code." if thinks else "")
    return script


def secret(draw: random.Random) -> Script:
    """One thing among others, of which only the named one is asked for."""
    is_titled = draw.random() < 0.5
    script = Script(system(draw))
    color, others = secret_words(draw)
    told = (
        f"the secret color is {color}. other words are {', '.join(others)}.",
        f"other words are {', '.join(others)}. the secret color is {color}.",
    )
    script.user(register(draw.choice(told), is_titled))
    script.says(register("noted.", is_titled))
    if draw.random() < 0.4:
        chatter(script, draw, is_titled)
    script.user(register("what is the secret color?", is_titled))
    script.says(register(f"the secret color is {color}.", is_titled))
    return script


def secret_words(draw: random.Random) -> tuple[str, list[str]]:
    """A color, and two or three other words that may be colors too."""
    color = draw.choice(words.COLORS + words.MORE_COLORS)
    others = [word for word in words.FRUITS + words.COLORS if word != color]
    return color, draw.sample(others, draw.randint(2, 3))


def small_talk(draw: random.Random) -> Script:
    """Talk, and questions about a world the model does not know."""
    is_titled, thinks = draw.random() < 0.5, draw.random() < 0.2
    script = Script(system(draw), thinking=thinks)
    for _ in range(draw.choice((1, 1, 2, 3))):
        if draw.random() < 0.5:
            asked, answer = draw.choice(SMALL_TALK)
        else:
            asked = " ".join(draw.choice(_ENGLISH) for _ in range(draw.randint(2, 12)))
            asked, answer = asked + draw.choice((".", "?", "", "!")), "i do not know that."
        script.user(register(asked, is_titled))
        script.says(register(answer, is_titled), "this is easy." if thinks else "")
    return script
