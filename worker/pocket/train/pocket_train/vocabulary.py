"""The tokenizer: control tokens and bytes at fixed ids, words and marks learned from the project's own texts."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers.models.gemma.tokenization_gemma import GemmaTokenizer

from pocket_train import words
from pocket_train.shape import VOCABULARY_TOKENS

WORDS_FILE = Path(__file__).with_name("vocabulary_words.tsv")
"""Words of the project's own documentation and sources with how often each stands there; `count` writes it."""
ENGLISH_FILE = Path(__file__).with_name("english.txt")
"""Ordinary words, the likeliest first."""

_CONTROLS = {
    0: "<pad>",
    1: "<eos>",
    2: "<bos>",
    3: "<unk>",
    4: "<mask>",
    46: "<|tool>",
    47: "<tool|>",
    48: "<|tool_call>",
    49: "<tool_call|>",
    50: "<|tool_response>",
    51: "<tool_response|>",
    52: '<|"|>',
    98: "<|think|>",
    100: "<|channel>",
    101: "<channel|>",
    105: "<|turn>",
    106: "<turn|>",
    107: "\n",
}
_RESERVED = 108
_MEDIA = ["<|image>", "<|audio>", "<|image|>", "<|audio|>", "<image|>", "<audio|>", "<|video|>"]
_NAMED = {
    "image_token": "<|image|>",
    "boi_token": "<|image>",
    "eoi_token": "<image|>",
    "audio_token": "<|audio|>",
    "boa_token": "<|audio>",
    "eoa_token": "<audio|>",
    "sot_token": "<|turn>",
    "eot_token": "<turn|>",
    "soc_token": "<|channel>",
    "eoc_token": "<channel|>",
    "think_token": "<|think|>",
    "escape_token": '<|"|>',
    "str_token": "<|tool_response>",
    "etr_token": "<tool_response|>",
    "stc_token": "<|tool_call>",
    "etc_token": "<tool_call|>",
    "std_token": "<|tool>",
    "etd_token": "<tool|>",
}
_SPACE = "\u2581"
# Words with the space before them, single digits, single angle brackets and bars (markup that somebody spells out
# stays many tokens), the same mark repeated, and short runs of other marks. Only while learning: the finished
# tokenizer merges wherever it can, as Gemma's does.
_UNITS = Regex(rf"{_SPACE}*[^\W\d_{_SPACE}]+|\d|[<>|]|{_SPACE}+|\n+|[^\w\s<>|.,?!{_SPACE}]{{1,3}}|[.,?!_]|\s|.")
_WORLD_COUNT = 150
# A word's count by its place among the ordinary ones.
_FIRST_COUNT, _LEAST_COUNT = 20_000, 40
_LONGEST_TOKEN = 16
_COUNTED = (".md", ".rs", ".py", ".ts", ".mjs", ".json")
# Neither what other programs wrote, nor this model's own files.
_NOT_COUNTED = ("lock", "golden", "snapshots", "worker/pocket")


def make(folder: Path) -> None:
    """Writes tokenizer.json and tokenizer_config.json."""
    core = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    core.normalizer = normalizers.Replace(" ", _SPACE)
    core.pre_tokenizer = pre_tokenizers.Split(_UNITS, "isolated")
    reserved = [_CONTROLS.get(number, f"<unused{number}>") for number in range(_RESERVED)]
    fixed = [*reserved, *(f"<0x{byte:02X}>" for byte in range(256)), *_MEDIA]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_TOKENS,
        special_tokens=fixed,
        show_progress=False,
        initial_alphabet=[*map(chr, range(33, 127)), _SPACE],
        max_token_length=_LONGEST_TOKEN,
    )
    core.train_from_iterator(_texts(), trainer)
    model = json.loads(core.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    whole = GemmaTokenizer(
        vocab=model["vocab"], merges=merges, add_bos_token=False, padding_side="left", extra_special_tokens=_NAMED
    )
    whole.add_special_tokens({"additional_special_tokens": ["<|video|>"]})
    folder.mkdir(parents=True, exist_ok=True)
    whole.save_pretrained(str(folder))
    if len(whole) != VOCABULARY_TOKENS:
        raise ValueError(f"the vocabulary has {len(whole)} tokens, not {VOCABULARY_TOKENS}: grow {WORDS_FILE.name}")


def _texts() -> Iterator[str]:
    for line in WORDS_FILE.read_text(encoding="utf-8").splitlines():
        unit, _, count = line.rpartition("\t")
        for _ in range(int(count)):
            yield json.loads(unit)
    for place, word in enumerate(ENGLISH_FILE.read_text(encoding="utf-8").split(), 1):
        yield from [f" {word}"] * max(_FIRST_COUNT // place, _LEAST_COUNT)
    for word in sorted({word for group in words.ALL for word in group}):
        yield from [f" {word} {words.titled(word)}", f"{word}:{words.titled(word)}"] * _WORLD_COUNT


def count(repository: Path) -> None:
    """Counts the units of the project's own texts anew and writes those that stand there more than twice."""
    splitter = pre_tokenizers.Split(_UNITS, "isolated")
    listed = subprocess.run(["git", "ls-files"], cwd=repository, check=True, capture_output=True, text=True)
    found: Counter[str] = Counter()
    for name in listed.stdout.splitlines():
        if name.endswith(_COUNTED) and not any(part in name for part in _NOT_COUNTED):
            text = (repository / name).read_text(encoding="utf-8")
            units = (unit for unit, _ in splitter.pre_tokenize_str(text.replace(" ", _SPACE)))
            # Other scripts are bytes.
            found.update(spaced for unit in units if (spaced := unit.replace(_SPACE, " ")).isascii())
    kept = sorted(((-times, unit) for unit, times in found.items() if times > 2 and len(unit) <= _LONGEST_TOKEN))
    lines = (f"{json.dumps(unit, ensure_ascii=False)}\t{-times}\n" for times, unit in kept)
    WORDS_FILE.write_text("".join(lines), encoding="utf-8")


def ids(folder: Path) -> dict[str, int]:
    """Every token of a folder's tokenizer.json and its id."""
    known: dict[str, int] = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab(with_added_tokens=True)
    return known
