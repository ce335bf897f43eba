"""What the text layers and both towers are built of."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp

Weights = Mapping[str, jax.Array]
"""Weights by mlx-vlm's names; a linear one is [out, in]."""


def norm(rows: jax.Array, scale: jax.Array | None = None) -> jax.Array:
    """Root-mean-square norm over the last axis."""
    scaled = rows * jax.lax.rsqrt(jnp.mean(rows * rows, -1, keepdims=True) + 1e-6)
    return scaled if scale is None else scaled * scale


def linear(rows: jax.Array, weight: jax.Array) -> jax.Array:
    """[..., in] to [..., out]."""
    return rows @ weight.T


def gelu(rows: jax.Array) -> jax.Array:
    """The approximation that the family uses."""
    return jax.nn.gelu(rows, approximate=True)


def turned(pairs: jax.Array, angles: jax.Array) -> jax.Array:
    """Rotary position: [batch, length, heads, width] turned by angles [length, width / 2]."""
    cos, sin = jnp.cos(angles)[None, :, None], jnp.sin(angles)[None, :, None]
    first, second = jnp.split(pairs, 2, -1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)
