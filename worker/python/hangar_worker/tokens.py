"""Segments to token ids, and generated ids to typed pieces."""

import codecs
import json
import re
from typing import Any

from tokenizers import Tokenizer

from hangar_worker import frames
from hangar_worker.faults import FaultError, ModelUnsupported

_LOOKS_LIKE_CONTROL = re.compile(r"^(<\|[^<>\s]*>|<[^<>\s]*\|>)$")
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
        self._controls: dict[str, int] = {str(each["content"]): int(each["id"]) for each in controls}
        self._control_names = {number: name for name, number in self._controls.items()}
        self._bytes: dict[int, bytes] = {}

    def encode_text(self, text: str) -> list[int]:
        """Ids of literal text."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def control(self, name: str) -> int | None:
        """Id of a control token, or nothing when there is none of that name."""
        return self._controls.get(name)

    def control_name(self, token: int) -> str | None:
        """Name of a control token, or nothing when the id is text."""
        return self._control_names.get(token)

    def text_bytes(self, token: int) -> bytes:
        """What a text token adds to the text; a byte token adds one byte."""
        known = self._bytes.get(token)
        if known is None:
            written = self._tokenizer.id_to_token(token) or ""
            match = _BYTE.match(written)
            known = bytes([int(match[1], 16)]) if match else written.replace(_SPACE, " ").encode()
            self._bytes[token] = known
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


def _is_control(added: dict[str, Any]) -> bool:
    return bool(added.get("special")) or bool(_LOOKS_LIKE_CONTROL.match(str(added.get("content", ""))))


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
