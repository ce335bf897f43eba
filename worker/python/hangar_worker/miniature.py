"""Writes random-weight models of real Gemma 4 shapes, small enough to load in a blink."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_vlm.models import gemma4
from mlx_vlm.utils import update_module_configs

VOCABULARY_TOKENS = 704
"""Rows of a miniature's embedding; the media markers are the last seven, as in the built-in model."""

_MARKERS = {
    "boi_token_id": 697,
    "boa_token_id": 698,
    "image_token_id": 699,
    "audio_token_id": 700,
    "eoi_token_id": 701,
    "eoa_token_id": 702,
    "video_token_id": 703,
}
_HIDDEN = 32
_EXPERTS = 4
# Large enough for a wrong row or mask to move the distribution far above rounding.
_WEIGHT_SCALE = 0.2


@dataclass(frozen=True)
class Shape:
    """What tells the members of the family apart."""

    name: str
    layers: tuple[str, ...]
    shared_layers: int
    per_layer_embeddings: bool
    experts: bool
    keys_are_values: bool
    bidirectional_images: bool
    audio: bool
    key_value_heads: int = 1


_S, _F = "sliding_attention", "full_attention"

E2B = Shape("e2b", (_S, _S, _F) * 2, 3, True, False, False, False, True)
"""Per-layer embeddings, one key-value head, half of the layers sharing keys and values."""
E4B = Shape("e4b", (_S, _S, _S, _F) * 2, 3, True, False, False, False, True, key_value_heads=2)
"""Like E2B with two key-value heads and fewer sharing layers."""
A4B_26B = Shape("26b-a4b", (_S, _S, _F) * 2, 0, False, True, True, True, False, key_value_heads=2)
"""Experts, keys used as values in global layers, images attending both ways, no per-layer embeddings."""
DENSE_31B = Shape("31b", (_S, _S, _S, _F) * 2, 0, False, False, True, True, False, key_value_heads=2)
"""Like 26B-A4B without experts."""

FAMILY = (E2B, E4B, A4B_26B, DENSE_31B)
"""All four."""


def write(
    folder: Path, shape: Shape, *, shared_layers: int | None = None, store_shared: bool = False, number: int = 0
) -> None:
    """Writes config.json and weights drawn from `number`; no tokenizer.

    `shared_layers` overrides the shape's own count. `store_shared` also stores keys and values for the
    layers that share another's, as some converted checkpoints do.
    """
    shared = shape.shared_layers if shared_layers is None else shared_layers
    config = configuration(shape, shared)
    folder.mkdir(parents=True, exist_ok=True)
    weights = _weights(config, number)
    if store_shared:
        # The same model without sharing has a key and a value projection in every layer.
        everywhere = _weights(configuration(shape, 0), number + 1)
        first_shared = len(shape.layers) - shared
        for name, value in everywhere.items():
            if name not in weights and _layer(name) >= first_shared and ".self_attn." in name:
                weights[name] = value
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "model.safetensors")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def configuration(shape: Shape, shared_layers: int) -> dict[str, Any]:
    """The config.json of a shape."""
    text: dict[str, Any] = {
        "model_type": "gemma4_text",
        "hidden_size": _HIDDEN,
        "num_hidden_layers": len(shape.layers),
        "intermediate_size": 48,
        "num_attention_heads": 4,
        "num_key_value_heads": shape.key_value_heads,
        "num_global_key_value_heads": 1 if shape.keys_are_values else None,
        "head_dim": 8,
        "global_head_dim": 16,
        "num_kv_shared_layers": shared_layers,
        "hidden_size_per_layer_input": 8 if shape.per_layer_embeddings else 0,
        "vocab_size": VOCABULARY_TOKENS,
        "vocab_size_per_layer_input": VOCABULARY_TOKENS,
        "sliding_window": 16,
        "layer_types": list(shape.layers),
        "use_double_wide_mlp": shape.shared_layers > 0,
        "attention_k_eq_v": shape.keys_are_values,
        "use_bidirectional_attention": "vision" if shape.bidirectional_images else None,
        "enable_moe_block": shape.experts,
        "num_experts": _EXPERTS if shape.experts else None,
        "top_k_experts": 2 if shape.experts else None,
        "moe_intermediate_size": 24 if shape.experts else None,
        "final_logit_softcapping": 30.0,
        "rope_parameters": {
            _F: {"partial_rotary_factor": 0.25, "rope_theta": 1_000_000.0, "rope_type": "proportional"},
            _S: {"rope_theta": 10_000.0, "rope_type": "default"},
        },
    }
    vision = {
        "model_type": "gemma4_vision",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "global_head_dim": 16,
        "patch_size": 16,
        "pooling_kernel_size": 3,
        "position_embedding_size": 64,
        "default_output_length": 9,
    }
    audio = {
        "model_type": "gemma4_audio",
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "subsampling_conv_channels": [8, 4],
        "output_proj_dims": _HIDDEN,
    }
    return {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "vocab_size": VOCABULARY_TOKENS,
        "eos_token_id": [1, 106],
        "vision_soft_tokens_per_image": 9,
        "text_config": text,
        "vision_config": vision,
        "audio_config": audio if shape.audio else None,
        **_MARKERS,
    }


def _weights(config: dict[str, Any], number: int) -> dict[str, mx.array]:
    """A new network's parameters, its matrices drawn anew from a fixed stream."""
    made = gemma4.ModelConfig.from_dict(config)
    made = update_module_configs(made, gemma4, config, ["text", "vision", "audio"])
    names = dict(tree_flatten(gemma4.Model(made).parameters()))
    keys = mx.random.split(mx.random.key(number), len(names))
    drawn = {
        name: mx.random.normal(value.shape, key=keys[at]) * _WEIGHT_SCALE if _is_drawn(name, value) else value
        for at, (name, value) in enumerate(sorted(names.items()))
    }
    mx.eval(drawn)
    return drawn


def _is_drawn(name: str, value: mx.array) -> bool:
    """Scales of norms keep their ones; everything a new network draws by chance is drawn again here."""
    return (value.ndim >= 2 or name.endswith(".bias")) and "norm" not in name


def _layer(name: str) -> int:
    parts = name.split(".")
    return int(parts[3]) if name.startswith("language_model.model.layers.") else -1
