"""Whether the network here and mlx-vlm's are one: checked before anything is learned."""

import copy
from typing import Any

import jax.numpy as jnp
import mlx.core as mx
import numpy as np
from mlx_vlm.models import gemma4
from mlx_vlm.utils import update_module_configs

from pocket_train.initial import Arrays
from pocket_train.network import audio, text, vision
from pocket_train.shape import MEL_BINS, PICTURE_PIXELS, VOCABULARY_TOKENS

_LIMIT = 1e-3


def check(config: dict[str, Any], weights: Arrays) -> None:
    """Compares logits and the rows of both towers on random input.

    Raises:
        ValueError: naming the part that differs and by how much.
    """
    config = copy.deepcopy(config)
    made = update_module_configs(gemma4.ModelConfig.from_dict(config), gemma4, config, ["text", "vision", "audio"])
    theirs = gemma4.Model(made)
    theirs.load_weights([(name, mx.array(value)) for name, value in weights.items()], strict=False)
    ours = {name: jnp.asarray(value) for name, value in weights.items()}
    chance = np.random.default_rng(0)
    ids = chance.integers(400, VOCABULARY_TOKENS, (1, 130))
    last = text.hidden(ours, jnp.asarray(ids), text.embedded(ours, jnp.asarray(ids)), jnp.ones(ids.shape, jnp.int32))
    mel = chance.standard_normal((1, 200, MEL_BINS)).astype(np.float32)
    heard, _ = theirs.audio_tower(mx.array(mel), mx.zeros((1, 200), mx.bool_))
    pixels = chance.random((1, 3, PICTURE_PIXELS, PICTURE_PIXELS)).astype(np.float32)
    seen = theirs.embed_vision(theirs.vision_tower(mx.array(pixels)))
    pairs = {
        "text": (text.logits(ours, last), theirs.language_model(mx.array(ids), cache=None).logits),
        "audio": (audio.rows(ours, mel, np.ones((1, 200), np.bool_)), theirs.embed_audio(heard)),
        "vision": (vision.rows(ours, jnp.asarray(pixels)), seen),
    }
    for name, (here, there) in pairs.items():
        apart = float(np.abs(np.asarray(here).ravel() - np.asarray(there).ravel()).max())
        if apart > _LIMIT:
            raise ValueError(f"the {name} part differs from mlx-vlm's by {apart:.1e}")
