"""Segments to token ids, and generated ids to typed pieces."""

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

from tokenizers import Tokenizer

from hangar_worker import frames
from hangar_worker.encoding import TextEncoder
from hangar_worker.faults import FaultError, ModelUnsupported

_LOOKS_LIKE_CONTROL = re.compile(r"^(<\|[^<>\s]*>|<[^<>\s]*\|>)$")
# Names that vocabularies keep for later use, many of them listed nowhere but among the ordinary tokens.
_LOOKS_RESERVED = re.compile(
    r"^(<(unused|reserved|extra|special|pad|mask|unk|bos|eos|cls|sep|start_of|end_of)[-_]?\w*>|<\w+_soft_token>"
    r"|\[(unused|reserved|pad|mask|unk|cls|sep|multimodal)[-_]?\w*\])$",
    re.IGNORECASE,
)
_BYTE = re.compile(r"^<0x([0-9A-Fa-f]{2})>$")
_SPACE = "\u2581"
_FILE = "tokenizer.json"


class Vocabulary:
    """The model's tokens: literal text can never become a control token, and ids know what they are."""

    def __init__(self, tokenizer_json: dict[str, Any]) -> None:
        """Reads a parsed tokenizer.json.

        Raises:
            FaultError: `model_unsupported` when it is not a Gemma tokenizer.
        """
        _check_kind(tokenizer_json)
        controls = [each for each in tokenizer_json["added_tokens"] if _is_control(each)]
        # Some checkpoints list control tokens as ordinary added tokens, which literal text would hit.
        added = [{**each, "special": True} if _is_control(each) else each for each in tokenizer_json["added_tokens"]]
        try:
            self._tokenizer = Tokenizer.from_str(json.dumps({**tokenizer_json, "added_tokens": added}))
        except Exception as error:
            raise FaultError(ModelUnsupported(what=f"{_FILE} cannot be read by the tokenizer library")) from error
        self._tokenizer.encode_special_tokens = True
        self._controls: dict[str, int] = {
            **_reserved(tokenizer_json),
            **{str(each["content"]): int(each["id"]) for each in controls},
        }
        self._control_names = {number: name for name, number in self._controls.items()}
        self._bytes: dict[int, bytes] = {}
        known = self._tokenizer.get_vocab(with_added_tokens=True)
        texts = [name for name in known if name not in self._controls and not _BYTE.match(name)]
        self._encoder = TextEncoder(self._tokenizer, tokenizer_json, texts)

    def encode_text(self, text: str) -> list[int]:
        """Ids of literal text."""
        return self._encoder.whole(text)

    def encode_pieces(self, text: str) -> Iterator[list[int]]:
        """The same ids, a piece of some 10 ms at a time."""
        return self._encoder.pieces(text)

    def least_tokens(self, text_bytes: int) -> int:
        """A lower bound of the ids of literal text this long; 0 where length says nothing."""
        return self._encoder.least_tokens(text_bytes)

    def control(self, name: str) -> int | None:
        """Id of a control token, or nothing when there is none of that name."""
        return self._controls.get(name)

    def control_name(self, token: int) -> str | None:
        """Name of a control token, or nothing when the id is text."""
        return self._control_names.get(token)

    @property
    def control_ids(self) -> Collection[int]:
        """Ids of every token that is no text."""
        return self._control_names.keys()

    def token_bytes(self, token: int) -> bytes:
        """What a text token adds to the text; the name of a control token."""
        name = self.control_name(token)
        return self.text_bytes(token) if name is None else name.encode()

    def table(self, rows: int) -> list[bytes]:
        """`token_bytes` of every id below `rows`."""
        table = [b""] * rows
        for written, token in (*self._tokenizer.get_vocab(with_added_tokens=True).items(), *self._controls.items()):
            if 0 <= token < rows:
                table[token] = written.encode() if token in self._control_names else _bytes_of(written)
        return table

    def text_bytes(self, token: int) -> bytes:
        """What a text token adds to the text; a byte token adds one byte."""
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = _bytes_of(self._tokenizer.id_to_token(token) or "")
        return known


class PieceDecoder:
    """Turns generated ids into pieces at once, holding back only the bytes of an unfinished character."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Starts with nothing held back."""
        self._vocabulary = vocabulary
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token: int) -> list[frames.Piece]:
        """Pieces that this token completes."""
        name = self._vocabulary.control_name(token)
        if name is None:
            text = self._utf8.decode(self._vocabulary.text_bytes(token))
            return [frames.Text(text=text)] if text else []
        return [*self.finish(), frames.Control(token=name)]

    def finish(self) -> list[frames.Piece]:
        """What is left: an unfinished character becomes a replacement character."""
        text = self._utf8.decode(b"", final=True)
        self._utf8.reset()
        return [frames.Text(text=text)] if text else []


def _bytes_of(written: str) -> bytes:
    match = _BYTE.match(written)
    return bytes([int(match[1], 16)]) if match else written.replace(_SPACE, " ").encode()


def _is_control(added: dict[str, Any]) -> bool:
    return bool(added.get("special")) or _names_a_control(str(added.get("content", "")))


def _names_a_control(name: str) -> bool:
    return bool(_LOOKS_LIKE_CONTROL.match(name) or _LOOKS_RESERVED.match(name))


def _reserved(tokenizer_json: dict[str, Any]) -> dict[str, int]:
    """Ordinary tokens that are reserved: named so, and nothing that text could be merged to."""
    model = tokenizer_json["model"]
    named = {
        str(name): int(number)
        for name, number in model.get("vocab", {}).items()
        if name[-1:] in (">", "]") and _names_a_control(name)
    }
    for merge in model.get("merges", []):
        left, right = merge.split(" ", 1) if isinstance(merge, str) else merge
        if right[-1:] in (">", "]"):
            named.pop(left + right, None)
    return named


def _check_kind(tokenizer_json: dict[str, Any]) -> None:
    model = tokenizer_json.get("model")
    decoder = json.dumps(tokenizer_json.get("decoder"), ensure_ascii=False)
    gemma = (
        isinstance(model, dict)
        and model.get("type") == "BPE"
        and bool(model.get("byte_fallback"))
        and _SPACE in decoder
        and isinstance(tokenizer_json.get("added_tokens"), list)
        and all(
            isinstance(each, dict) and "id" in each and "content" in each for each in tokenizer_json["added_tokens"]
        )
    )
    if not gemma:
        raise FaultError(ModelUnsupported(what=f"{_FILE} is not a Gemma tokenizer (BPE with byte fallback)"))
