"""A real `hangar serve` with a state folder of its own, and OpenAI's client for it."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import openai
import pytest
import telling

MODEL = "gemma-4-pocket"
POCKET = Path(__file__).resolve().parents[2] / "worker" / "pocket" / "model"
PATIENCE_S = 60
# More than a model writes while anybody waits for something else.
ENDLESS_TOKENS = 30_000
# The end of the whole text, which the model never writes; the end of a turn is left out.
NEVER_WRITTEN = 1
LISTENING = "Hangar is listening on "


class Server:
    """A running server."""

    def __init__(self, home: Path, local: dict[str, object]) -> None:
        home.mkdir(parents=True)
        (home / "local.json").write_text(json.dumps(local))
        self._log = home / "test.log"
        with self._log.open("wb") as log:
            self._child = subprocess.Popen(
                [os.environ["HANGAR_BINARY"], "serve"],
                env={**os.environ, "HANGAR_PORT": "", "HANGAR_HOME": str(home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            self.url = self._address()
        except AssertionError:
            self.end()
            raise

    def client(self, **more: object) -> openai.OpenAI:
        """A client that does not try again, unless it is told to."""
        return openai.OpenAI(**{**self._ways, "http_client": telling.http_client(), **more})

    def async_client(self, **more: object) -> openai.AsyncOpenAI:
        """The same, asynchronous."""
        return openai.AsyncOpenAI(**{**self._ways, "http_client": telling.async_http_client(), **more})

    @property
    def _ways(self) -> dict[str, object]:
        return {"base_url": f"{self.url}/v1", "api_key": "none", "max_retries": 0}

    def stats(self) -> dict[str, dict[str, object]]:
        """What /admin/stats tells."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE_S)
        connection.request("GET", "/admin/stats")
        try:
            return json.load(connection.getresponse())
        finally:
            connection.close()

    def end(self) -> None:
        """Ends it as Ctrl-C does."""
        self._child.send_signal(signal.SIGTERM)
        try:
            self._child.wait(PATIENCE_S)
        finally:
            self._child.kill()
        shutil.rmtree(self._log.parent, ignore_errors=True)

    def _address(self) -> str:
        assert self._child.stdout is not None
        limit = threading.Timer(PATIENCE_S, self._child.kill)
        limit.start()
        try:
            for line in self._child.stdout:
                if line.startswith(LISTENING):
                    return line.removeprefix(LISTENING).strip()
        finally:
            limit.cancel()
        raise AssertionError(f"no address from the server:\n{self._log.read_text()}")


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, object]], Server]]:
    """Starts a server with settings of its own; it is ended with the tests."""
    servers: list[Server] = []

    def begin(local: dict[str, object]) -> Server:
        servers.append(Server(tmp_path_factory.mktemp("server") / "home", local))
        return servers[-1]

    yield begin
    for server in servers:
        server.end()


@pytest.fixture(scope="session")
def server(start: Callable[[dict[str, object]], Server]) -> Server:
    """The server with ordinary settings."""
    return start({})


def endless_in(folder: Path) -> dict[str, object]:
    """Settings for a model that answers as the built-in one, and then does not find an end."""
    model = folder / "endless"
    shutil.copytree(POCKET, model)
    for name in ("config.json", "generation_config.json"):
        config = json.loads((model / name).read_text())
        (model / name).write_text(json.dumps({**config, "eos_token_id": [NEVER_WRITTEN]}))
    sampling = {"temperature": 0}
    return {"id": MODEL, "path": str(model), "maxOutputTokens": ENDLESS_TOKENS, "sampling": sampling}


@pytest.fixture
def endless(tmp_path: Path) -> dict[str, object]:
    return endless_in(tmp_path)


@pytest.fixture(scope="session")
def narrow(start: Callable[[dict[str, object]], Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A server whose model finds no end, and where nobody may wait."""
    model = endless_in(tmp_path_factory.mktemp("model"))
    return start({"model": model, "worker": {"queue": {"maxDepth": 0}}})


def counting(server: Server, **more: object) -> tuple[openai.OpenAI, list[str]]:
    """A client, and the paths it has asked for."""
    asked: list[str] = []
    hooks = {"request": [lambda request: asked.append(request.url.path)]}
    return server.client(http_client=telling.http_client(event_hooks=hooks), **more), asked


@pytest.fixture
def client(server: Server) -> openai.OpenAI:
    return server.client()
