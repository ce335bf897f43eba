"""Weights before any training."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from mlx.utils import tree_flatten
from mlx_vlm.models import gemma4
from mlx_vlm.utils import update_module_configs
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from pocket_train.shape import TEXT

Arrays = dict[str, np.ndarray]

_BOUNDS = ("input_min", "input_max", "output_min", "output_max")
# Small steps at first: every layer begins close to passing its input on.
_SCALE_OF_A_BRANCH = 0.3
_BY_TOKEN = ("language_model.model.embed_tokens.weight", "language_model.model.embed_tokens_per_layer.weight")
_SPACE = "\u2581"
_CHANCE = 0.6
_BRANCH_NORMS = ("post_attention_layernorm", "post_feedforward_layernorm", "post_per_layer_input_norm")


def weights(config: dict[str, Any], seed: int) -> Arrays:
    """All weights of a config.json, matrices drawn from the seed, the rest as mlx-vlm begins them."""
    made = gemma4.ModelConfig.from_dict(config)
    made = update_module_configs(made, gemma4, config, ["text", "vision", "audio"])
    named = {name: np.asarray(value) for name, value in tree_flatten(gemma4.Model(made).parameters())}
    draw = np.random.default_rng(seed)
    return {name: _begun(name, named[name], draw) for name in sorted(named) if "rope" not in name}


def carried(weights: Arrays, ids: dict[str, int], earlier: Path) -> Arrays:
    """Weights with what an earlier model has learned, in so far as it has the same shape.

    A token begins as the mean of the earlier model's tokens for the same text, with some of its own chance, so that
    no two are the same; a control token as it was.
    """
    stored = load_file(earlier / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(earlier / "tokenizer.json"))
    before = tokenizer.get_vocab(with_added_tokens=True)
    found = dict(weights)
    for name, value in stored.items():
        if name not in _BY_TOKEN and found[name].shape == value.shape:
            found[name] = value
    tokenizer.encode_special_tokens = True
    pieces = {token: [before[token]] if token in before else _pieces(tokenizer, token) for token in ids}
    for name in _BY_TOKEN:
        rows, known = found[name].copy(), stored[name]
        own = known.std() / rows.std()
        for token, number in ids.items():
            mean = known[pieces[token]].mean(0)
            rows[number] = mean if token in before else (1 - _CHANCE) * mean + _CHANCE * own * rows[number]
        found[name] = rows
    return found


def is_learned(name: str) -> bool:
    """Whether training may change it: the bounds of clipped layers stay as they are."""
    return not name.endswith(_BOUNDS)


def _pieces(tokenizer: Tokenizer, token: str) -> list[int]:
    ids: list[int] = tokenizer.encode(token.replace(_SPACE, " "), add_special_tokens=False).ids
    return ids or [tokenizer.token_to_id("<unk>")]


def _begun(name: str, value: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    if name.startswith("language_model.") and name.removesuffix(".weight").endswith(_BRANCH_NORMS):
        return np.full_like(value, _SCALE_OF_A_BRANCH)
    if name.startswith("language_model.") and name.endswith("q_norm.weight"):
        return np.full_like(value, 2 / math.sqrt(value.size))
    if value.ndim < 2 or "norm" in name:
        return value
    if name.endswith("embed_tokens.weight"):
        scale = TEXT["hidden_size"] ** -0.5
    elif name.endswith("embed_tokens_per_layer.weight"):
        scale = TEXT["hidden_size_per_layer_input"] ** -0.5
    elif name.endswith("per_layer_model_projection.weight"):
        scale = 1.0
    elif name.endswith("position_embedding_table"):
        scale = 0.02
    else:
        scale = math.prod(value.shape[1:]) ** -0.5
    return (draw.standard_normal(value.shape) * scale).astype(np.float32)
