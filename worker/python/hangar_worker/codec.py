"""JSON text to frames and back, driven by the frames' own declarations."""

import dataclasses
import functools
import json
import math
import re
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hangar_worker import faults, frames


class CodecError(ValueError):
    """A line is not a frame; names the field, never its content."""


# What names the variant in JSON, by the union it belongs to.
_TAG_OF: dict[frozenset[type], str] = {
    frozenset(get_args(frames.Segment)): "type",
    frozenset(get_args(frames.Piece)): "type",
    frozenset(get_args(frames.Media)): "type",
    frozenset(get_args(frames.Grammar)): "type",
    frozenset(get_args(frames.Verdict)): "verdict",
    frozenset(get_args(faults.Fault)): "code",
    frozenset(get_args(frames.ToWorker)): "type",
    frozenset(get_args(frames.FromWorker)): "type",
}


def decode_to_worker(line: str) -> frames.ToWorker:
    """Reads one command.

    Raises:
        CodecError: when the line is not such a frame.
    """
    frame: frames.ToWorker = _read(frames.ToWorker, _parse(line), "frame")
    return frame


def decode_from_worker(line: str) -> frames.FromWorker:
    """Reads one report.

    Raises:
        CodecError: when the line is not such a frame.
    """
    frame: frames.FromWorker = _read(frames.FromWorker, _parse(line), "frame")
    return frame


def encode(frame: frames.ToWorker | frames.FromWorker) -> str:
    """Writes one frame as JSON without a newline."""
    return json.dumps(_write(frame), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _parse(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise CodecError("frame is not JSON") from error


@functools.cache
def _tag_names() -> dict[type, tuple[str, str]]:
    found: dict[type, tuple[str, str]] = {}
    for members, tag in _TAG_OF.items():
        for member in members:
            found[member] = (tag, re.sub(r"(?<!^)(?=[A-Z])", "_", member.__name__).lower())
    return found


@functools.cache
def _fields(of: type) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(of)
    return tuple((each.name, hints[each.name]) for each in dataclasses.fields(of))


def _write(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_write(each) for each in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    of = type(value)
    written = {name: _write(getattr(value, name)) for name, _ in _fields(of)}
    if of in _tag_names():
        tag, variant = _tag_names()[of]
        return {tag: variant, **written}
    return written


def _read(of: Any, value: Any, where: str) -> Any:
    origin = get_origin(of)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(of), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise CodecError(f"{where} is not a list")
        return tuple(_read(get_args(of)[0], each, f"{where}[{at}]") for at, each in enumerate(value))
    if origin is Literal:
        if value not in get_args(of):
            raise CodecError(f"{where} is not one of {', '.join(get_args(of))}")
        return value
    if dataclasses.is_dataclass(of) and isinstance(of, type):
        return _read_struct(of, value, where)
    return _read_scalar(of, value, where)


def _read_union(members: tuple[Any, ...], value: Any, where: str) -> Any:
    if type(None) in members:
        plain = tuple(member for member in members if member is not type(None))
        if value is None:
            return None
        return _read_union(plain, value, where) if len(plain) > 1 else _read(plain[0], value, where)
    tag = _TAG_OF[frozenset(members)]
    if not isinstance(value, dict):
        raise CodecError(f"{where} is not an object")
    for member in members:
        if _tag_names()[member][1] == value.get(tag):
            return _read_struct(member, value, where)
    raise CodecError(f"{where}.{tag} is unknown")


def _read_struct(of: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise CodecError(f"{where} is not an object")
    parts: dict[str, Any] = {}
    for name, kind in _fields(of):
        optional = get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
        if name not in value and not optional:
            raise CodecError(f"{where}.{name} is missing")
        parts[name] = _read(kind, value.get(name), f"{where}.{name}")
    return of(**parts)


def _read_scalar(of: Any, value: Any, where: str) -> Any:
    if of is float and isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if of is int and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if of is bool and isinstance(value, bool):
        return value
    if of is str and isinstance(value, str):
        return value
    raise CodecError(f"{where} is not a {of.__name__}")
