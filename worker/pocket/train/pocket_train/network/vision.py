"""The vision tower: patches, two-dimensional rotary positions, pooling to tokens."""

import jax
import jax.numpy as jnp
import numpy as np

from pocket_train.network.parts import Weights, gelu, linear, norm, turned
from pocket_train.shape import POOLED_PATCHES, VISION

_TOWER = "vision_tower."
_ROPE_BASE = 100.0


def rows(weights: Weights, pixels: jax.Array) -> jax.Array:
    """Token rows [batch, tokens, hidden] of pictures [batch, 3, height, width] in 0..1.

    Sides are whole pooled patches.
    """
    batch, channels, height, width = pixels.shape
    side, down, across = VISION["patch_size"], height // VISION["patch_size"], width // VISION["patch_size"]
    patches = pixels.reshape(batch, channels, down, side, across, side).transpose(0, 2, 4, 3, 5, 1)
    patches = patches.reshape(batch, down * across, side * side * channels)
    found = linear(2 * (patches - 0.5), weights[_TOWER + "patch_embedder.input_proj.weight"])
    x, y = (each.ravel() for each in np.meshgrid(np.arange(across), np.arange(down)))
    places = weights[_TOWER + "patch_embedder.position_embedding_table"]
    found = found + (places[0, x] + places[1, y])[None]
    for layer in range(VISION["num_hidden_layers"]):
        found = _layer(weights, f"{_TOWER}encoder.layers.{layer}.", found, x, y)
    pooled = found.reshape(batch, down // POOLED_PATCHES, POOLED_PATCHES, across // POOLED_PATCHES, POOLED_PATCHES, -1)
    pooled = pooled.mean((2, 4)).reshape(batch, -1, found.shape[-1]) * (found.shape[-1] ** 0.5)
    return linear(norm(pooled), weights["embed_vision.embedding_projection.weight"])


def _layer(weights: Weights, name: str, found: jax.Array, x: np.ndarray, y: np.ndarray) -> jax.Array:
    batch, patches, _ = found.shape
    heads, width = VISION["num_attention_heads"], VISION["head_dim"]
    inner = norm(found, weights[name + "input_layernorm.weight"])

    def projected(which: str) -> jax.Array:
        made = linear(inner, weights[f"{name}self_attn.{which}_proj.linear.weight"])
        return made.reshape(batch, patches, heads, width)

    queries = _placed(norm(projected("q"), weights[name + "self_attn.q_norm.weight"]), x, y)
    keys = _placed(norm(projected("k"), weights[name + "self_attn.k_norm.weight"]), x, y)
    seen = jax.nn.softmax(jnp.einsum("blnd,bmnd->bnlm", queries, keys), -1)
    attended = jnp.einsum("bnlm,bmnd->blnd", seen, norm(projected("v"))).reshape(batch, patches, heads * width)
    attended = linear(attended, weights[name + "self_attn.o_proj.linear.weight"])
    found = found + norm(attended, weights[name + "post_attention_layernorm.weight"])
    inner = norm(found, weights[name + "pre_feedforward_layernorm.weight"])
    gate = gelu(linear(inner, weights[name + "mlp.gate_proj.linear.weight"]))
    inner = gate * linear(inner, weights[name + "mlp.up_proj.linear.weight"])
    inner = linear(inner, weights[name + "mlp.down_proj.linear.weight"])
    return found + norm(inner, weights[name + "post_feedforward_layernorm.weight"])


def _placed(rows: jax.Array, x: np.ndarray, y: np.ndarray) -> jax.Array:
    """The first half of a head turned by the column, the second by the row."""
    half = VISION["head_dim"] // 2
    turns = _ROPE_BASE ** -(np.arange(0, half, 2) / half)
    by = [jnp.asarray(place[:, None] * turns[None], jnp.float32) for place in (x, y)]
    return jnp.concatenate([turned(rows[..., :half], by[0]), turned(rows[..., half:], by[1])], -1)
