"""In-process floor of `hangar bench`: drives the engine with no pipe and no server around it.

`floor.py make SOURCE TARGET` writes a copy of a model that never ends its answer by itself: the embedding rows
of its control, byte and newline tokens are zero, and the head is tied to them. Shapes and cost stay the same.
`floor.py serve MODEL` answers one JSON object a line: {"ask":"first"|"decode"|"upstream", "text":…, "tokens":…}.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import mlx.core as mx

from hangar_worker import frames
from hangar_worker.sampling import Chooser
from hangar_worker.session import Session

GREEDY = frames.Sampling(temperature=0.0)


def make(source: Path, target: Path) -> None:
    """Writes the model that never stops."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    vocabulary: dict[str, int] = json.loads((source / "tokenizer.json").read_text())["model"]["vocab"]
    silent = [number for token, number in vocabulary.items() if token.startswith("<") or token in {"\n", "▁"}]
    weights: dict[str, Any] = dict(mx.load(str(source / "model.safetensors")))
    (name,) = [name for name in weights if name.endswith("language_model.model.embed_tokens.weight")]
    weights[name][mx.array(silent)] = 0
    mx.save_safetensors(str(target / "model.safetensors"), weights, metadata={"format": "mlx"})


def prompt(text: str) -> frames.Prompt:
    """The prompt the server renders for one user message."""
    turn = (
        frames.Control("<|turn>"),
        frames.Text(f"user\n{text}"),
        frames.Control("<turn|>"),
        frames.Text("\n"),
    )
    header = (frames.Control("<|turn>"), frames.Text("model\n"))
    groups = ((frames.Control("<bos>"),), turn, header)
    return frames.Prompt(groups=tuple(frames.Group(segments=group) for group in groups), media=())


class Floor:
    """One loaded model and the ways of driving it that are measured."""

    def __init__(self, model: Path) -> None:
        """Loads it as a worker would."""
        self.session = Session.open(
            model,
            window_tokens=65_536,
            chunk_tokens=None,
            state_cache_bytes=0,
            progress=lambda _phase, _done, _total: None,
        )
        self.engine = self.session._engine
        self.network = self.session._model.network

    def first(self, text: str) -> dict[str, float]:
        """Milliseconds from a rendered prompt to its first token, and the prompt's length."""
        began = time.perf_counter()
        tokens = self.session.tokenize(prompt(text))
        cache = self.engine.new_cache()
        logits = self.engine.prefill(self.engine.embed(tokens), cache)
        next(iter(self.engine.decode(logits, cache, Chooser(GREEDY), 1)))
        return {"first_ms": (time.perf_counter() - began) * 1000, "prompt_tokens": len(tokens.ids)}

    def decode(self, text: str, count: int) -> dict[str, float]:
        """Tokens a second after the first one, through our engine."""
        tokens = self.session.tokenize(prompt(text))
        cache = self.engine.new_cache()
        logits = self.engine.prefill(self.engine.embed(tokens), cache)
        return _rate(self.engine.decode(logits, cache, Chooser(GREEDY), count))

    def upstream(self, text: str, count: int) -> dict[str, float]:
        """Tokens a second after the first one, through mlx-vlm's own generation loop."""
        from mlx_vlm.generate.ar import generate_step

        ids = mx.array([self.session.tokenize(prompt(text)).ids])
        steps = generate_step(ids, self.network, None, None, max_tokens=count, temperature=0.0)
        return _rate(token for token, _ in steps)


def _rate(steps: Any) -> dict[str, float]:
    times = [time.perf_counter() for _ in steps]
    return {"tokens_per_second": (len(times) - 1) / (times[-1] - times[0])}


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def serve(model: Path) -> None:
    """Answers one question a line."""
    floor = Floor(model)
    _say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["ask"]:
            case "first":
                answer = floor.first(asked["text"])
            case "decode":
                answer = floor.decode(asked["text"], asked["tokens"])
            case "upstream":
                answer = floor.upstream(asked["text"], asked["tokens"])
            case other:
                answer = {"error": f"unknown question {other}"}
        _say(answer)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", source, target]:
            make(Path(source), Path(target))
        case ["serve", model]:
            serve(Path(model))
        case _:
            sys.exit("usage: floor.py make SOURCE TARGET | floor.py serve MODEL")
