"""Makes the built-in model: `learn`, then `score`, then `publish`; `count` renews the words of the tokenizer."""

import argparse
import functools
import shutil
import sys
from pathlib import Path

from pocket_train import export, limits

limits.two_cores()

import jax

from pocket_train import agree, fixtures, initial, learn, recipe, scenes, score, shape, sound, vocabulary
from pocket_train.batches import Encoder

POCKET = Path(__file__).resolve().parents[2]
"""The folder of the built-in model in the repository."""
EARLIER = POCKET / "train" / "earlier"
"""What the model began as: the first one, of 704 tokens."""


def main() -> int:
    """Reads the command line and does what it says."""
    parser = argparse.ArgumentParser(prog="pocket_train", description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="where everything on the way is kept")
    parser.add_argument("--steps", type=int, default=recipe.STEPS, help="stop earlier than the recipe does")
    parser.add_argument("--items", type=int, default=100, help="items a row of the score")
    parser.add_argument("--model", type=Path, help="model to score instead of the one in the work folder")
    parser.add_argument("verb", choices=["count", "learn", "score", "publish"])
    options = parser.parse_args()
    made = options.work / "model"
    match options.verb:
        case "learn":
            _learn(options.work, made, options.steps)
        case "score":
            table = score.table(options.model or made, options.items)
            (options.work / "score.md").write_text(table + "\n", encoding="utf-8")
            print(table)  # noqa: T201
        case "count":
            vocabulary.count(POCKET.parents[1])
        case "publish":
            fixtures.write(POCKET / "canary")
            shutil.copytree(made, POCKET / "model", dirs_exist_ok=True)
            export.manifest(POCKET)
            export.card(POCKET, (options.work / "score.md").read_text(encoding="utf-8"))
    return 0


def _learn(work: Path, made: Path, steps: int) -> None:
    """From nothing, or from where an earlier run was cut, to a model's folder."""
    work.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", str(work / "compiled"))
    vocabulary.make(made)
    speech, state = work / "speech.npz", work / "state.npz"
    if not speech.exists():
        sound.record(speech, recipe.PHRASES_SEED, recipe.PHRASES)
    encoder = Encoder((made / "tokenizer.json").read_text(encoding="utf-8"))
    config = shape.config(vocabulary.ids(made))
    begun = initial.carried(initial.weights(config, recipe.SEED), vocabulary.ids(made), EARLIER)
    agree.check(config, begun)
    learner = learn.Learner(begun, (encoder.audio, encoder.image), recipe.rate)
    if state.exists():
        learner.resume(state)
    bank: scenes.Bank = sound.recorded(speech)
    next_batch = functools.partial(recipe.batch, encoder=encoder, bank=bank)
    learn.run(learner, next_batch, recipe.SEED, steps, state)
    template = (POCKET / "model" / "chat_template.jinja").read_text(encoding="utf-8")
    export.files(made, learner.weights(), template)


if __name__ == "__main__":
    sys.exit(main())
