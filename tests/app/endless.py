"""A model that answers as the built-in one, and then does not find an end."""

import json
import shutil
from pathlib import Path

from desk import REPOSITORY

POCKET = REPOSITORY / "worker" / "pocket" / "model"
# The end of the whole text, which the model never writes; the end of a turn is left out.
NEVER_WRITTEN = 1
# More than a model writes while anybody waits for something else.
TOKENS = 30_000


def serve_endless(home: Path) -> None:
    """Has the server with this state folder serve such a model under the built-in one's name."""
    model = home / "endless"
    shutil.copytree(POCKET, model)
    for name in ("config.json", "generation_config.json"):
        config = json.loads((model / name).read_text())
        (model / name).write_text(json.dumps({**config, "eos_token_id": [NEVER_WRITTEN]}))
    served = {"id": "gemma-4-pocket", "path": str(model), "maxOutputTokens": TOKENS}
    (home / "local.json").write_text(json.dumps({"model": {**served, "sampling": {"temperature": 0}}}))
