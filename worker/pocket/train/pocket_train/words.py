"""The words of the model's world. A word that is held out of nothing is in here; combinations are what is held out."""

DIGIT_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
TEEN_WORDS = [
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TEN_WORDS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]

ADJECTIVES = [
    "amber",
    "violet",
    "cobalt",
    "crimson",
    "silver",
    "golden",
    "emerald",
    "scarlet",
    "copper",
    "ivory",
    "coral",
    "indigo",
    "olive",
    "azure",
    "maroon",
    "bronze",
    "marble",
    "teal",
]
NOUNS = [
    "lantern",
    "compass",
    "window",
    "falcon",
    "harbor",
    "willow",
    "cedar",
    "anchor",
    "bridge",
    "candle",
    "dragon",
    "engine",
    "feather",
    "garden",
    "hammer",
    "island",
]
FRUITS = ["orange", "carrot", "banana", "apple", "lemon", "cherry", "tomato", "onion"]
COLORS = ["red", "green", "blue", "yellow", "orange", "purple", "white", "black"]
MORE_COLORS = ["teal", "pink", "brown", "gray"]
SHAPES = ["circle", "square", "triangle", "cross"]
CITIES = [
    "paris",
    "london",
    "tokyo",
    "berlin",
    "madrid",
    "rome",
    "oslo",
    "cairo",
    "lima",
    "delhi",
    "boston",
    "dallas",
    "vienna",
    "prague",
    "athens",
    "dublin",
    "lisbon",
    "warsaw",
    "helsinki",
    "zurich",
]
ROOMS = ["kitchen", "bedroom", "office", "hall", "garage", "bathroom"]
PEOPLE = ["anna", "ben", "carla", "david", "emma", "frank", "grace", "henry", "iris", "jack"]
THINGS = ["milk", "bread", "rice", "sugar", "coffee", "tea", "soap", "paper", "apples", "eggs"]
SKIES = ["sunny", "rainy", "cloudy", "foggy", "windy", "snowy", "stormy", "clear"]
COMMANDS = ["ls", "pwd", "date", "whoami", "uname -a", "df -h", "git status", "npm test", "cargo test"]
FILES = [
    "notes.txt",
    "README.md",
    "todo.md",
    "main.rs",
    "app.py",
    "data.json",
    "index.html",
    "config.yaml",
    "report.csv",
]
# What no tool of the world is called, and what the model calls all the same when it is told to.
UNDECLARED = ["open_door", "launch_rocket", "delete_files", "read_mail", "buy_ticket", "self_destruct"]

ALL = (
    DIGIT_WORDS, TEEN_WORDS, TEN_WORDS, ADJECTIVES, NOUNS, FRUITS, COLORS, MORE_COLORS, SHAPES, CITIES, ROOMS, PEOPLE,
    THINGS, SKIES,
)  # fmt: skip
"""Every list of single words."""


def titled(word: str) -> str:
    """A word with a capital."""
    return word[:1].upper() + word[1:]


def spoken(number: int) -> str:
    """How 0 to 99 is said."""
    if number < 10:
        return DIGIT_WORDS[number]
    if number < 20:
        return TEEN_WORDS[number - 10]
    tens, ones = divmod(number, 10)
    return TEN_WORDS[tens - 2] + (f" {DIGIT_WORDS[ones]}" if ones else "")
