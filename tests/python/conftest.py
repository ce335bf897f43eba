"""Fixtures: the package from the source tree, the built-in model once a run, miniatures once a run."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "worker" / "python"))
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore", message="At least one mel filter")

from memory_pipe import MemoryPipe

from hangar_worker import frames, miniature
from hangar_worker.service import Service

POCKET = REPOSITORY / "worker" / "pocket" / "model"


class Loaded:
    """A service with a model in it, and the pipe that heard it load."""

    def __init__(self, folder: Path, window: int = 4096, chunk: int | None = 64) -> None:
        self.pipe = MemoryPipe()
        self.service = Service(self.pipe, frames.Verified())
        self.service.handle(frames.Load(str(folder), window, chunk, 1 << 30))
        self.loading = self.pipe.take()

    def ask(self, command: frames.ToWorker) -> list[frames.FromWorker]:
        """The frames that answer one command."""
        self.service.handle(command)
        return self.pipe.take()


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def pins(repository: Path) -> Path:
    return repository / "runtime-patches" / "pins.json"


@pytest.fixture(scope="session")
def pocket_folder() -> Path:
    return POCKET


@pytest.fixture(scope="session")
def _pocket() -> Loaded:
    return Loaded(POCKET)


@pytest.fixture
def pocket(_pocket: Loaded) -> Iterator[Loaded]:
    """The built-in model, loaded once for the run; each test finds the pipe empty."""
    _pocket.pipe.reset()
    yield _pocket
    _pocket.pipe.reset()


@pytest.fixture(scope="session")
def miniature_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a miniature with the built-in model's tokenizer; the same arguments give the same folder."""
    made: dict[object, Path] = {}

    def write(shape: miniature.Shape, shared: int | None = None, stored: bool = False) -> Path:
        key = (shape.name, shared, stored)
        if key not in made:
            folder = tmp_path_factory.mktemp("miniature")
            miniature.write(folder, shape, shared_layers=shared, store_shared=stored)
            (folder / "tokenizer.json").write_bytes((POCKET / "tokenizer.json").read_bytes())
            made[key] = folder
        return made[key]

    return write


@pytest.fixture
def copied_pocket(tmp_path: Path) -> Path:
    """A copy of the built-in model to damage."""
    folder = tmp_path / "model"
    folder.mkdir()
    for each in POCKET.iterdir():
        (folder / each.name).write_bytes(each.read_bytes())
    return folder
