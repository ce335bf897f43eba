"""The text layers: per-layer embeddings, keys and values shared by the last layers, sliding and full attention."""

import jax
import jax.numpy as jnp
import numpy as np

from pocket_train.network.parts import Weights, gelu, linear, norm, turned
from pocket_train.shape import TEXT

_MODEL = "language_model.model."
_FULL = "full_attention"


def embedded(weights: Weights, ids: jax.Array) -> jax.Array:
    """Rows of token ids: [batch, length] to [batch, length, hidden]."""
    return weights[_MODEL + "embed_tokens.weight"][ids] * (TEXT["hidden_size"] ** 0.5)


def hidden(weights: Weights, ids: jax.Array, rows: jax.Array, part: jax.Array) -> jax.Array:
    """Last hidden rows [batch, length, hidden] of embedded rows.

    `ids` choose the per-layer embeddings; media tokens are to be 0 in them. Tokens see tokens of their own `part`
    [batch, length] only.
    """
    kept: dict[str, tuple[jax.Array, jax.Array]] = {}
    together = part[:, :, None] == part[:, None, :]
    masks = {kind: (together & _seen(ids.shape[1], kind))[:, None, None] for kind in set(TEXT["layer_types"])}
    layers, width = TEXT["num_hidden_layers"], TEXT["hidden_size_per_layer_input"]
    own = weights[_MODEL + "embed_tokens_per_layer.weight"][ids] * (width**0.5)
    projected = linear(rows, weights[_MODEL + "per_layer_model_projection.weight"]) * (TEXT["hidden_size"] ** -0.5)
    projected = norm(projected.reshape(*ids.shape, layers, width), weights[_MODEL + "per_layer_projection_norm.weight"])
    per_layer = (projected + own.reshape(*ids.shape, layers, width)) * (2.0**-0.5)
    for layer, kind in enumerate(TEXT["layer_types"]):
        here = {
            name.removeprefix(f"{_MODEL}layers.{layer}."): each
            for name, each in weights.items()
            if name.startswith(f"{_MODEL}layers.{layer}.")
        }
        attended = _attend(here, norm(rows, here["input_layernorm.weight"]), kind, kept, masks[kind])
        rows = rows + norm(attended, here["post_attention_layernorm.weight"])
        inner = norm(rows, here["pre_feedforward_layernorm.weight"])
        inner = gelu(linear(inner, here["mlp.gate_proj.weight"])) * linear(inner, here["mlp.up_proj.weight"])
        rows = rows + norm(linear(inner, here["mlp.down_proj.weight"]), here["post_feedforward_layernorm.weight"])
        gated = gelu(linear(rows, here["per_layer_input_gate.weight"])) * per_layer[:, :, layer]
        rows = rows + norm(linear(gated, here["per_layer_projection.weight"]), here["post_per_layer_input_norm.weight"])
        rows = rows * here["layer_scalar"]
    return norm(rows, weights[_MODEL + "norm.weight"])


def logits(weights: Weights, rows: jax.Array) -> jax.Array:
    """Logits [..., vocabulary] of last hidden rows."""
    cap = TEXT["final_logit_softcapping"]
    return jnp.tanh(linear(rows, weights[_MODEL + "embed_tokens.weight"]) / cap) * cap


def _attend(
    here: Weights, rows: jax.Array, kind: str, kept: dict[str, tuple[jax.Array, jax.Array]], mask: jax.Array
) -> jax.Array:
    batch, length, _ = rows.shape
    heads, shared_heads = TEXT["num_attention_heads"], TEXT["num_key_value_heads"]
    width = TEXT["global_head_dim"] if kind == _FULL else TEXT["head_dim"]
    angles = jnp.asarray(np.arange(length)[:, None] * _frequencies(kind, width)[None], jnp.float32)

    def projected(name: str, count: int) -> jax.Array:
        return linear(rows, here[f"self_attn.{name}_proj.weight"]).reshape(batch, length, count, width)

    queries = turned(norm(projected("q", heads), here["self_attn.q_norm.weight"]), angles)
    if "self_attn.k_proj.weight" in here:
        keys = turned(norm(projected("k", shared_heads), here["self_attn.k_norm.weight"]), angles)
        kept[kind] = (keys, norm(projected("v", shared_heads)))
    keys, values = kept[kind]
    # Heads that share a key are folded into the length: one product a shared head, where a product a head is slow.
    share = heads // shared_heads
    folded = queries.reshape(batch, length, shared_heads, share, width).transpose(0, 2, 3, 1, 4)
    folded = folded.reshape(batch, shared_heads, share * length, width)
    scores = jnp.einsum("bkqd,bmkd->bkqm", folded, keys).reshape(batch, shared_heads, share, length, length)
    seen = jax.nn.softmax(jnp.where(mask, scores, -1e9), -1).reshape(batch, shared_heads, share * length, length)
    found = jnp.einsum("bkqm,bmkd->bkqd", seen, values).reshape(batch, shared_heads, share, length, width)
    found = found.transpose(0, 3, 1, 2, 4).reshape(batch, length, heads * width)
    return linear(found, here["self_attn.o_proj.weight"])


def _seen(length: int, kind: str) -> jax.Array:
    """Who may see whom: [length, length]."""
    place, other = np.arange(length)[:, None], np.arange(length)[None]
    seen = place >= other
    return jnp.asarray(seen if kind == _FULL else seen & (place < other + TEXT["sliding_window"]))


def _frequencies(kind: str, width: int) -> np.ndarray:
    """Turns a token of each pair of a head; pairs beyond the rotary part stand still."""
    rope = TEXT["rope_parameters"][kind]
    found = 1.0 / rope["rope_theta"] ** (np.arange(0, width, 2) / width)
    found[int(rope.get("partial_rotary_factor", 1.0) * width // 2) :] = 0.0
    return found
