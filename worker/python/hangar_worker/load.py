"""Loads a checked model folder; runs nothing that lies in it."""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_vlm.utils import load_model

from hangar_worker import model_files
from hangar_worker.faults import FaultError, ModelDamaged, ModelUnsupported
from hangar_worker.media import MediaReader
from hangar_worker.prompt import Markers, MediaTokens
from hangar_worker.tokens import Vocabulary

_MISSING = re.compile(r"Missing (\d+) parameters:\s*(\S+?),?\s")
_SURPLUS = re.compile(r"Received (\d+) parameters not in model:\s*(\S+?),?\s")
_SHAPE = re.compile(r"Expected shape (\(.*?\)) but received shape (\(.*?\)) for parameter (\S+)")


@dataclass(frozen=True)
class LoadedModel:
    """Weights in memory with what turns prompts into ids and ids into pieces."""

    network: Any
    vocabulary: Vocabulary
    reader: MediaReader
    markers: MediaTokens
    end_tokens: frozenset[int]
    parameters: int

    @property
    def vocabulary_tokens(self) -> int:
        """Rows of the embedding."""
        return int(self.network.config.text_config.vocab_size)


def load(folder: Path) -> LoadedModel:
    """Checks and loads one folder.

    Raises:
        FaultError: naming the file that is missing, damaged or not supported.
    """
    files = model_files.check(folder)
    vocabulary = Vocabulary(files.tokenizer)
    network = weights(folder)
    with named_by_config():
        return LoadedModel(
            network=network,
            vocabulary=vocabulary,
            reader=MediaReader(files.config, files.processor_config),
            markers=media_tokens(network),
            end_tokens=files.end_tokens,
            parameters=count_parameters(network),
        )


def weights(folder: Path) -> Any:
    """The network with its weights in memory.

    Raises:
        FaultError: when tensors are missing, surplus or of another shape than config.json says.
    """
    # The loader prints warnings and progress; frames are elsewhere, but logs are to stay JSON.
    with named_by_config(), contextlib.redirect_stdout(io.StringIO()):
        try:
            return load_model(folder)
        except ValueError as error:
            if fault := _of_tensors(str(error) + " "):
                raise fault from error
            raise


@contextlib.contextmanager
def named_by_config() -> Iterator[None]:
    """Blames config.json for what the network's own code raises over values that do not fit each other.

    Raises:
        FaultError: `model_unsupported` naming the file and the kind of exception.
    """
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"config.json does not describe a network that can be built and run ({type(error).__name__})"
        raise FaultError(ModelUnsupported(what=what)) from error


def media_tokens(network: Any) -> MediaTokens:
    """Ids of the media markers, for the towers that the loaded network has."""
    config = network.config
    image = Markers(config.boi_token_id, config.image_token_id, config.eoi_token_id)
    audio = Markers(config.boa_token_id, config.audio_token_id, config.eoa_token_id)
    placeholders = {config.image_token_id, config.audio_token_id, config.video_token_id} - {None}
    return MediaTokens(
        image=image if network.vision_tower is not None else None,
        audio=audio if network.audio_tower is not None else None,
        placeholders=frozenset(cast("set[int]", placeholders)),
    )


def count_parameters(network: Any) -> int:
    """Parameters as trained: a packed weight counts each of the numbers packed in it."""
    modules = network.named_modules()
    packed = {path: module.bits for path, module in modules if isinstance(getattr(module, "bits", None), int)}
    total = 0
    for path, value in _tensors(network):
        owner, _, name = path.rpartition(".")
        if owner not in packed:
            total += value.size
        elif name == "weight":
            total += value.size * value.itemsize * 8 // packed[owner]
    return total


def holds(network: Any, tensor: str) -> bool:
    """Whether the loaded network has a parameter of this name."""
    return any(name == tensor for name, _ in _tensors(network))


def _tensors(network: Any) -> list[tuple[str, mx.array]]:
    flat: Any = tree_flatten(network.parameters())
    return list(flat)


def _of_tensors(text: str) -> FaultError | None:
    if match := _MISSING.search(text):
        what = f"{match[1]} tensors are missing, first {match[2]}"
        return FaultError(ModelDamaged(file="model.safetensors", what=what))
    if match := _SHAPE.search(text):
        what = f"{match[3]} has shape {match[2]}, config.json says {match[1]}"
        return FaultError(ModelDamaged(file="model.safetensors", what=what))
    if match := _SURPLUS.search(text):
        what = f"{match[1]} tensors do not belong to this architecture, first {match[2]}"
        return FaultError(ModelUnsupported(what=what))
    return None
