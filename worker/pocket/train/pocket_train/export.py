"""Writes the model's folder and the list of its files."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from pocket_train import shape, vocabulary
from pocket_train.initial import Arrays

_CARRIED = "model.safetensors"
_SCORE_BEGINS, _SCORE_ENDS = "<!-- score -->", "<!-- end of score -->"


def files(folder: Path, weights: Arrays, template: str) -> None:
    """Writes everything that mlx-vlm loads; the tokenizer must be there already."""
    _json(folder / "config.json", shape.config(vocabulary.ids(folder)))
    _json(folder / "generation_config.json", shape.GENERATION)
    _json(folder / "processor_config.json", shape.PROCESSOR)
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    named = {name: np.asarray(weights[name], order="C") for name in sorted(weights)}
    save_file(named, str(folder / _CARRIED), metadata={"format": "mlx"})
    (folder / _CARRIED).chmod(0o644)
    total = sum(value.nbytes for value in named.values())
    _json(
        folder / "model.safetensors.index.json",
        {"metadata": {"total_size": total}, "weight_map": dict.fromkeys(named, _CARRIED)},
    )


def manifest(pocket: Path) -> None:
    """Lists every file of the model with its size and hash."""
    listed = [
        {
            "path": f"model/{file.name}",
            "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        for file in sorted((pocket / "model").iterdir())
    ]
    written = {"schema": 1, "model": "gemma-4-pocket", "files": listed}
    (pocket / "manifest.json").write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def card(pocket: Path, score: str) -> None:
    """Puts the table of a score between its marks in the model's card."""
    file = pocket / "MODEL_CARD.md"
    before, _, rest = file.read_text(encoding="utf-8").partition(_SCORE_BEGINS)
    _, mark, after = rest.partition(_SCORE_ENDS)
    if not mark:
        raise ValueError(f"{file} has no place for a score: {_SCORE_BEGINS} … {_SCORE_ENDS}")
    file.write_text(f"{before}{_SCORE_BEGINS}\n\n{score}\n{_SCORE_ENDS}{after}", encoding="utf-8")


def _json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1), encoding="utf-8")
