"""Looks at a model folder's files before anything is loaded from them; runs nothing and imports nothing heavy."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hangar_worker.faults import FaultError, ModelDamaged, ModelMissing, ModelUnsupported

MODEL_TYPE = "gemma4"
"""The one `model_type` this worker runs."""

# Keys by which a folder names Python code of its own, or files outside the weights.
_CODE_KEYS = ("auto_map", "model_file", "trust_remote_code", "custom_pipelines", "ple_storage")
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64"), 64),
}
_LARGEST_HEADER_BYTES = 100_000_000
_INDEX = "model.safetensors.index.json"
_SHARD = re.compile(r"^(.+)-(\d{5})-of-(\d{5})\.safetensors$")


@dataclass(frozen=True)
class ModelFiles:
    """What the checked folder holds."""

    folder: Path
    config: dict[str, Any]
    generation_config: dict[str, Any]
    processor_config: dict[str, Any]
    tokenizer: dict[str, Any]
    weight_files: tuple[str, ...]

    @property
    def end_tokens(self) -> frozenset[int]:
        """Ids that end an answer, from both configuration files."""
        found: set[int] = set()
        for named in (self.config.get("eos_token_id"), self.generation_config.get("eos_token_id")):
            found.update(named if isinstance(named, list) else [] if named is None else [named])
        return frozenset(found)


def check(folder: Path) -> ModelFiles:
    """Checks that the folder is whole and of a kind this worker runs.

    Raises:
        FaultError: with `model_missing`, `model_damaged` or `model_unsupported`, naming the file.
    """
    if not folder.is_dir():
        raise FaultError(ModelMissing(file=f"{folder} (the whole folder)"))
    config = _json_object(folder, "config.json")
    generation_config = _json_object(folder, "generation_config.json", optional=True)
    for source in (config, generation_config, config.get("text_config")):
        _refuse_code(source)
    if config.get("model_type") != MODEL_TYPE:
        raise FaultError(ModelUnsupported(what=f"config.json says model_type {_short(config.get('model_type'))}"))
    if not isinstance(config.get("text_config"), dict):
        raise FaultError(ModelDamaged(file="config.json", what="text_config is missing"))
    if (folder / "offload_index.json").exists():
        raise FaultError(ModelUnsupported(what="offload_index.json: offloaded experts are not run"))
    processor = _json_object(folder, "processor_config.json", optional=True)
    processor = processor or _json_object(folder, "preprocessor_config.json", optional=True)
    files = ModelFiles(
        folder=folder,
        config=config,
        generation_config=generation_config,
        processor_config=processor,
        tokenizer=_json_object(folder, "tokenizer.json"),
        weight_files=_check_weights(folder),
    )
    if not files.end_tokens or not all(isinstance(token, int) for token in files.end_tokens):
        raise FaultError(ModelDamaged(file="config.json", what="eos_token_id is missing or not a number"))
    return files


def _refuse_code(source: object) -> None:
    if not isinstance(source, dict):
        return
    for key in _CODE_KEYS:
        if source.get(key):
            raise FaultError(ModelUnsupported(what=f"config.json names code or files of its own ({key}); none is run"))


def _json_object(folder: Path, name: str, *, optional: bool = False) -> dict[str, Any]:
    try:
        value = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        if optional:
            return {}
        raise FaultError(ModelMissing(file=name)) from None
    except NotADirectoryError:
        raise FaultError(ModelMissing(file=name)) from None
    except OSError as error:
        raise FaultError(ModelDamaged(file=name, what=f"cannot be read ({type(error).__name__})")) from None
    except (ValueError, RecursionError):
        raise FaultError(ModelDamaged(file=name, what="is not JSON")) from None
    if not isinstance(value, dict):
        raise FaultError(ModelDamaged(file=name, what="is not a JSON object"))
    return value


def _check_weights(folder: Path) -> tuple[str, ...]:
    if not (folder / _INDEX).exists():
        names = sorted(each.name for each in folder.glob("*.safetensors") if not each.name.startswith("consolidated"))
        if not names:
            raise FaultError(ModelMissing(file="model.safetensors"))
        for name in _with_siblings(names):
            _tensor_names(folder, name)
        return tuple(names)
    mapped = _json_object(folder, _INDEX).get("weight_map")
    if not isinstance(mapped, dict) or not mapped or not all(isinstance(name, str) for name in mapped.values()):
        raise FaultError(ModelDamaged(file=_INDEX, what="weight_map is missing or empty"))
    for name in sorted(set(mapped.values())):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise FaultError(ModelUnsupported(what=f"{_INDEX} names a file that is not a safetensors file beside it"))
        lacking = sorted({tensor for tensor, at in mapped.items() if at == name} - _tensor_names(folder, name))
        if lacking:
            what = f"{len(lacking)} tensors of the index are not in it, first {_short(lacking[0])}"
            raise FaultError(ModelDamaged(file=name, what=what))
    return tuple(sorted(set(mapped.values())))


def _with_siblings(names: list[str]) -> list[str]:
    """The names and, where they are numbered shards, those that must stand beside them."""
    expected = list(names)
    for name in names:
        if match := _SHARD.match(name):
            stem, total = match[1], int(match[3])
            expected += [f"{stem}-{number:05d}-of-{total:05d}.safetensors" for number in range(1, total + 1)]
    return sorted(set(expected))


def _tensor_names(folder: Path, name: str) -> set[str]:
    """Names of the tensors of one file, after checking its header against its length."""
    path = folder / name
    try:
        length = path.stat().st_size
        with path.open("rb") as opened:
            prefix = opened.read(8)
            header_bytes = int.from_bytes(prefix, "little")
            if len(prefix) < 8 or header_bytes > min(length - 8, _LARGEST_HEADER_BYTES):
                raise FaultError(ModelDamaged(file=name, what=f"header does not fit its {length} bytes"))
            header = json.loads(opened.read(header_bytes))
    except FileNotFoundError:
        raise FaultError(ModelMissing(file=name)) from None
    except OSError as error:
        raise FaultError(ModelDamaged(file=name, what=f"cannot be read ({type(error).__name__})")) from None
    except (ValueError, RecursionError):
        raise FaultError(ModelDamaged(file=name, what="header is not JSON")) from None
    if not isinstance(header, dict):
        raise FaultError(ModelDamaged(file=name, what="header is not a JSON object"))
    header.pop("__metadata__", None)
    ends = [_tensor_end(name, tensor, entry) for tensor, entry in header.items()]
    expected = 8 + header_bytes + max(ends, default=0)
    if length != expected:
        raise FaultError(ModelDamaged(file=name, what=f"expected {expected} bytes, found {length}"))
    return set(header)


def _tensor_end(name: str, tensor: str, entry: object) -> int:
    """Where a tensor's bytes end, after checking them against its shape."""
    contradiction = FaultError(ModelDamaged(file=name, what=f"header entry {_short(tensor)} contradicts itself"))
    if not isinstance(entry, dict):
        raise contradiction
    try:
        kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        bits = _BITS.get(kind)
        sound = start >= 0 and all(size >= 0 for size in shape)
        fits = bits is None or (end - start) * 8 == bits * math.prod(shape)
    except (KeyError, TypeError, ValueError):
        raise contradiction from None
    if bits is None:
        raise FaultError(ModelUnsupported(what=f"{name} holds tensors of type {_short(kind)}"))
    if not (sound and fits):
        raise contradiction
    return int(end)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
