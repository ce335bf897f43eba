"""The training loop: fixed steps, data drawn from seed and step alone, so that a run that was cut goes on as it was."""

import json
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from pocket_train.batches import Batch
from pocket_train.initial import Arrays, is_learned
from pocket_train.network import audio, text, vision

SAVE_EVERY_STEPS = 200
TELL_EVERY_STEPS = 50


class Learner:
    """Weights, the optimiser's state, and the step they stand at."""

    def __init__(self, weights: Arrays, media_ids: tuple[int, int], rate: Callable[[int], float]) -> None:
        """`media_ids` are the audio and image placeholders, `rate` the learning rate by step."""
        self._rate = rate
        self.kept = {name: value for name, value in weights.items() if not is_learned(name)}
        self._weights = {name: jnp.asarray(value) for name, value in weights.items() if is_learned(name)}
        self._optimiser = optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(
                # Scaled by the step's own rate below: a rate inside would be compiled in.
                1.0,
                b2=0.98,
                weight_decay=0.01,
                mask=lambda tree: jax.tree.map(lambda each: each.ndim > 1, tree),
            ),
        )
        self._state = self._optimiser.init(self._weights)
        self.step = 0
        self._update = jax.jit(partial(_updated, self._optimiser, media_ids), donate_argnums=(0, 1))

    def learn(self, batch: Batch) -> tuple[jax.Array, jax.Array]:
        """One step; returns loss and the share of learned tokens that were the likeliest."""
        self._weights, self._state, loss, right = self._update(
            self._weights, self._state, batch | {"rate": np.float32(self._rate(self.step))}
        )
        self.step += 1
        return loss, right

    def weights(self) -> Arrays:
        """All weights as they are now."""
        return self.kept | {name: np.asarray(value) for name, value in self._weights.items()}

    def save(self, file: Path) -> None:
        """Writes weights, state and step, whole or not at all."""
        leaves = jax.tree.leaves((self._weights, self._state))
        fresh = file.with_suffix(".new.npz")
        np.savez(fresh, *map(np.asarray, leaves), step=self.step)
        fresh.replace(file)

    def resume(self, file: Path) -> None:
        """Goes on where a saved run stood."""
        stored = np.load(file)
        leaves, shape = jax.tree.flatten((self._weights, self._state))
        found = [jnp.asarray(stored[f"arr_{at}"]) for at in range(len(leaves))]
        self._weights, self._state = jax.tree.unflatten(shape, found)
        self.step = int(stored["step"])


def run(
    learner: Learner,
    next_batch: Callable[[int, random.Random], tuple[str, Batch]],
    seed: int,
    until: int,
    file: Path,
) -> None:
    """Learns up to a step with data of a seed, saving to the file on the way."""
    shares: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}
    begun, first = time.monotonic(), learner.step
    while learner.step < until:
        step = learner.step
        name, batch = next_batch(step, random.Random(f"{seed}:{step}"))
        loss, right = learner.learn(batch)
        shares.setdefault(name, []).append(float(right))
        losses.setdefault(name, []).append(float(loss))
        if learner.step % TELL_EVERY_STEPS == 0:
            seconds = (time.monotonic() - begun) / (learner.step - first)
            told = {
                each: [round(sum(losses[each]) / len(losses[each]), 3), round(sum(right) / len(right), 3)]
                for each, right in sorted(shares.items())
            }
            print(json.dumps({"step": learner.step, "s": round(seconds, 2), **told}), flush=True)  # noqa: T201
            shares.clear()
            losses.clear()
        if learner.step % SAVE_EVERY_STEPS == 0 or learner.step == until:
            learner.save(file)


def _updated(
    optimiser: optax.GradientTransformation,
    media_ids: tuple[int, int],
    weights: dict[str, jax.Array],
    state: optax.OptState,
    batch: dict[str, jax.Array],
) -> tuple[dict[str, jax.Array], optax.OptState, jax.Array, jax.Array]:
    (loss, right), slope = jax.value_and_grad(partial(_loss, media_ids), has_aux=True)(weights, batch)
    change, state = optimiser.update(slope, state, weights)
    change = jax.tree.map(lambda each: each * batch["rate"], change)
    return optax.apply_updates(weights, change), state, loss, right


def _loss(
    media_ids: tuple[int, int], weights: dict[str, jax.Array], batch: dict[str, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    logits = text.logits(weights, _rows(media_ids, weights, batch))
    likely = jax.nn.log_softmax(logits, -1)
    surprise = -jnp.take_along_axis(likely, batch["want"][..., None], -1)[..., 0]
    answers = batch["weight"] >= 1.0
    right = (logits.argmax(-1) == batch["want"]) & answers
    return (surprise * batch["weight"]).sum() / batch["weight"].sum(), right.sum() / answers.sum()


def _rows(media_ids: tuple[int, int], weights: dict[str, jax.Array], batch: dict[str, jax.Array]) -> jax.Array:
    """Last hidden rows [rows, learned, hidden] in front of the tokens to be learned."""
    ids = batch["ids"]
    rows = text.embedded(weights, ids)
    if "mel" in batch:
        rows = _placed(rows, audio.rows(weights, batch["mel"], batch["valid"]), batch["heard"])
    if "pixels" in batch:
        rows = _placed(rows, vision.rows(weights, batch["pixels"]), batch["seen"])
    is_media = (ids == media_ids[0]) | (ids == media_ids[1])
    last = text.hidden(weights, jnp.where(is_media, 0, ids), rows, batch["part"])
    return jnp.take_along_axis(last, batch["at"][..., None], 1)


def _placed(rows: jax.Array, media: jax.Array, places: jax.Array) -> jax.Array:
    """Rows of media in the places that name them by number, -1 where there is text."""
    flat = media.reshape(-1, media.shape[-1])
    return jnp.where((places >= 0)[..., None], flat[jnp.maximum(places, 0)], rows)
