"""The audio tower: two strided convolutions, conformer layers that look half a second back."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from pocket_train.network.parts import Weights, linear, norm
from pocket_train.shape import AUDIO

_TOWER = "audio_tower."
_LOGIT_CAP = 50.0
_CHUNK, _PAST = AUDIO["attention_chunk_size"], AUDIO["attention_context_left"] - 1
_FUTURE = AUDIO["attention_context_right"]
_CONTEXT = _CHUNK + _PAST + _FUTURE


def rows(weights: Weights, mel: jax.Array, valid: jax.Array) -> jax.Array:
    """Token rows [batch, frames / 4, hidden] of mel frames [batch, frames, 128].

    `valid` [batch, frames] tells what is no padding.
    """
    found, mask = _subsampled(weights, mel, valid)
    for layer in range(AUDIO["num_hidden_layers"]):
        found = _layer(weights, f"{_TOWER}layers.{layer}.", found, mask)
    found = linear(found, weights[_TOWER + "output_proj.weight"]) + weights[_TOWER + "output_proj.bias"]
    found = jnp.where(mask[:, :, None], found, 0.0)
    return linear(norm(found), weights["embed_audio.embedding_projection.weight"])


def _subsampled(weights: Weights, mel: jax.Array, valid: jax.Array) -> tuple[jax.Array, jax.Array]:
    found, mask = mel[..., None], valid
    for number in (0, 1):
        name = f"{_TOWER}subsample_conv_projection.layer{number}."
        found = jax.lax.conv_general_dilated(
            jnp.where(mask[:, :, None, None], found, 0.0),
            weights[name + "conv.weight"],
            (2, 2),
            ((1, 1), (1, 1)),
            dimension_numbers=("NHWC", "OHWI", "NHWC"),
        )
        found = found - found.mean(-1, keepdims=True)
        found = found * jax.lax.rsqrt((found**2).mean(-1, keepdims=True) + 1e-6)
        found = jax.nn.relu(found * weights[name + "norm.weight"])
        mask = mask[:, ::2][:, : found.shape[1]]
    batch, length, bands, channels = found.shape
    flat = found.reshape(batch, length, bands * channels)
    return linear(flat, weights[_TOWER + "subsample_conv_projection.input_proj_linear.weight"]), mask


def _layer(weights: Weights, name: str, found: jax.Array, mask: jax.Array) -> jax.Array:
    found = _feed_forward(weights, name + "feed_forward1.", found)
    attended = _attend(weights, name + "self_attn.", norm(found, weights[name + "norm_pre_attn.weight"]), mask)
    found = found + norm(attended, weights[name + "norm_post_attn.weight"])
    found = found * mask[:, :, None]
    found = found + _convolved(weights, name + "lconv1d.", found)
    found = _feed_forward(weights, name + "feed_forward2.", found)
    return norm(found, weights[name + "norm_out.weight"])


def _feed_forward(weights: Weights, name: str, found: jax.Array) -> jax.Array:
    inner = norm(found, weights[name + "pre_layer_norm.weight"])
    inner = jax.nn.silu(linear(inner, weights[name + "ffw_layer_1.linear.weight"]))
    inner = linear(inner, weights[name + "ffw_layer_2.linear.weight"])
    return found + norm(inner, weights[name + "post_layer_norm.weight"]) * AUDIO["residual_weight"]


def _convolved(weights: Weights, name: str, found: jax.Array) -> jax.Array:
    inner = linear(norm(found, weights[name + "pre_layer_norm.weight"]), weights[name + "linear_start.linear.weight"])
    inner, gate = jnp.split(inner, 2, -1)
    kernel, length = weights[name + "depthwise_conv1d.weight"], found.shape[1]
    padded = jnp.pad(inner * jax.nn.sigmoid(gate), [(0, 0), (kernel.shape[1] - 1, 0), (0, 0)])
    inner = sum(padded[:, at : at + length] * kernel[:, at, 0] for at in range(kernel.shape[1]))
    inner = jax.nn.silu(norm(inner, weights[name + "conv_norm.weight"]))
    return linear(inner, weights[name + "linear_end.linear.weight"])


def _attend(weights: Weights, name: str, found: jax.Array, mask: jax.Array) -> jax.Array:
    batch, length, size = found.shape
    heads, width = AUDIO["num_attention_heads"], size // AUDIO["num_attention_heads"]
    chunks = -(-length // _CHUNK)

    def projected(which: str) -> jax.Array:
        made = linear(found, weights[f"{name}{which}_proj.linear.weight"])
        return made.reshape(batch, length, heads, width)

    scale = jax.nn.softplus(weights[name + "per_dim_scale"]) * (width**-0.5 / math.log(2))
    queries = projected("q") * scale
    queries = jnp.pad(queries, [(0, 0), (0, chunks * _CHUNK - length), (0, 0), (0, 0)])
    queries = queries.reshape(batch, chunks, _CHUNK, heads, width)
    keys = _contexts(projected("k") * (math.log(1 + math.e) / math.log(2)), chunks)
    values, seen = _contexts(projected("v"), chunks), _contexts(mask, chunks)
    distance = np.arange(_CHUNK)[:, None] + _PAST - np.arange(_CONTEXT)[None]
    near = ((distance >= 0) & (distance < _PAST)) | ((distance < 0) & (-distance < _FUTURE))
    allowed = seen[:, None, :, None, :] & jnp.asarray(near)[None, None, None]
    relative = linear(_positions(size), weights[name + "relative_k_proj.weight"]).reshape(-1, heads, width)
    by_place = jnp.einsum("buwnh,snh->bnuws", queries, relative)
    by_place = jnp.pad(by_place, [(0, 0)] * 4 + [(0, _CONTEXT + 1 - by_place.shape[-1])])
    by_place = by_place.reshape(batch, heads, chunks, _CHUNK * (_CONTEXT + 1))[..., : _CHUNK * _CONTEXT]
    scores = jnp.einsum("buwnh,bucnh->bnuwc", queries, keys)
    scores = scores + by_place.reshape(batch, heads, chunks, _CHUNK, _CONTEXT)
    scores = jnp.where(allowed, jnp.tanh(scores / _LOGIT_CAP) * _LOGIT_CAP, -1e9)
    attended = jnp.einsum("bnuwc,bucnh->buwnh", jax.nn.softmax(scores, -1), values)
    attended = attended.reshape(batch, chunks * _CHUNK, size)[:, :length]
    return linear(attended, weights[name + "post.linear.weight"])


def _contexts(found: jax.Array, chunks: int) -> jax.Array:
    """What each chunk may look at: [batch, length, ...] to [batch, chunks, context, ...]."""
    short = chunks * _CHUNK + _PAST + _FUTURE - found.shape[1] - _PAST
    padded = jnp.pad(found, [(0, 0), (_PAST, short)] + [(0, 0)] * (found.ndim - 2))
    return padded[:, (np.arange(chunks) * _CHUNK)[:, None] + np.arange(_CONTEXT)[None]]


def _positions(size: int) -> jax.Array:
    """Sines and cosines of each distance back: [distances, size]."""
    count = size // 2
    turns = np.exp(np.arange(count) * -(math.log(10_000.0) / max(count - 1, 1)))
    angles = np.arange(_PAST, -_FUTURE - 1, -1)[:, None] * turns
    return jnp.asarray(np.concatenate([np.sin(angles), np.cos(angles)], -1), jnp.float32)
