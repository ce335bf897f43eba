"""Long text encoded piece by piece, with exactly the ids that encoding it whole would give.

Byte-pair merging is settled between neighbours: tokens in a row are what a text encodes to if, and only if, each
two neighbours are what those two alone encode to. So a piece may end wherever the next piece, begun at one of its
tokens, begins with that very token: every pair of neighbours then stands in one of the pieces.
"""

from collections.abc import Iterator
from typing import Any

from tokenizers import Tokenizer

PIECE_CHARACTERS = 4096
"""Length of a piece: some 10 ms of work."""

_SPACE = "\u2581"
_MARGIN_CHARACTERS = 64
_PLAIN_NORMALIZERS = (
    {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE},
    {"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}]},
)
_MERGE_RULES = ("dropout", "ignore_merges", "continuing_subword_prefix", "end_of_word_suffix")


class TextEncoder:
    """Turns literal text into ids, and knows from its length alone how many there are at least."""

    def __init__(self, tokenizer: Tokenizer, tokenizer_json: dict[str, Any], text_tokens: list[str]) -> None:
        """Takes the library's tokenizer, the file it was read from, and every token that text can become."""
        added = tokenizer_json["added_tokens"]
        self._tokenizer = tokenizer
        self._plain = _is_plain(tokenizer_json)
        self._margin = max([_MARGIN_CHARACTERS, *(2 * len(str(each["content"])) for each in added)])
        self._longest_token_bytes = max((text_bytes(token) for token in text_tokens), default=1)

    def least_tokens(self, length_bytes: int) -> int:
        """A lower bound for text of this many bytes: all of it in the longest token."""
        return -(-length_bytes // self._longest_token_bytes) if self._plain else 0

    def whole(self, text: str) -> list[int]:
        """Ids of a text in one go."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def pieces(self, text: str) -> Iterator[list[int]]:
        """Ids of a text, a piece at a time; in one piece where this tokenizer's text cannot be cut."""
        if not self._plain:
            yield self.whole(text)
            return
        start, length = 0, PIECE_CHARACTERS
        ids, starts = self._encoded(text, start, length)
        while start + length < len(text):
            cut = self._agreed_cut(text, start, length, ids, starts)
            if cut is None:
                length *= 2
                ids, starts = self._encoded(text, start, length)
                continue
            at, following = cut
            yield ids[:at]
            start, length = start + starts[at], PIECE_CHARACTERS
            ids, starts = following
        yield ids

    def _agreed_cut(
        self, text: str, start: int, length: int, ids: list[int], starts: list[int]
    ) -> tuple[int, tuple[list[int], list[int]]] | None:
        """A token at which the piece can end, and the piece that begins with it."""
        at, back = len(ids), 1
        # What is near the end may look otherwise once more text follows.
        while at > 1 and starts[at - 1] > length - self._margin:
            at -= 1
        while (at := at - back) > 0:
            # A character of several byte tokens is cut before its first only.
            if starts[at] == starts[at - 1]:
                back = 1
                continue
            following = self._encoded(text, start + starts[at], PIECE_CHARACTERS)
            if following[0][0] == ids[at]:
                return at, following
            back *= 2
        return None

    def _encoded(self, text: str, start: int, length: int) -> tuple[list[int], list[int]]:
        """Ids of a stretch of text, and where each begins in it."""
        made = self._tokenizer.encode(text[start : start + length], add_special_tokens=False)
        return made.ids, [begin for begin, _ in made.offsets]


def text_bytes(text: str) -> int:
    """Length in UTF-8, written spaces counted as the spaces that they are to the tokenizer."""
    return len(text.replace(_SPACE, " ").encode())


def _is_plain(tokenizer_json: dict[str, Any]) -> bool:
    """Whether text goes to byte-pair merging as it is, with a token for every byte and nothing around it."""
    model, vocabulary = tokenizer_json["model"], tokenizer_json["model"].get("vocab", {})
    splitter = tokenizer_json.get("pre_tokenizer")
    # Splits at spaces, of which the normalizer leaves none.
    never_splits = splitter is None or (splitter.get("type") == "Split" and splitter.get("pattern") == {"String": " "})
    return (
        tokenizer_json.get("normalizer") in _PLAIN_NORMALIZERS
        and never_splits
        and not any(model.get(rule) for rule in _MERGE_RULES)
        and all(f"<0x{byte:02X}>" in vocabulary for byte in range(256))
        and not any(
            each.get(rule) for each in tokenizer_json["added_tokens"] for rule in ("lstrip", "rstrip", "single_word")
        )
    )
