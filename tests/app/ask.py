"""Asks a running server over HTTP."""

import contextlib
import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any


def get(url: str) -> tuple[int, Any]:
    """Status and body of a GET."""
    return _ask(urllib.request.Request(url))  # noqa: S310


def post(url: str, body: Any = None) -> tuple[int, Any]:
    """Status and body of a POST."""
    content = b"" if body is None else json.dumps(body).encode()
    return _ask(urllib.request.Request(url, content, {"content-type": "application/json"}, method="POST"))  # noqa: S310


def chat(url: str, text: str, **more: Any) -> tuple[int, Any]:
    """Asks the demonstration model."""
    messages = [{"role": "user", "content": text}]
    body = {"model": "gemma-4-pocket", "temperature": 0, "messages": messages, **more}
    return post(f"{url}/v1/chat/completions", body)


class Answer:
    """A streamed answer, read in the background."""

    def __init__(self, url: str, text: str, **more: Any) -> None:
        body = {"model": "gemma-4-pocket", "stream": True, "messages": [{"role": "user", "content": text}], **more}
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        self._request = urllib.request.Request(f"{url}/v1/chat/completions", content, headers)  # noqa: S310
        self.events: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def ended(self, within_s: float) -> list[str]:
        """All its events."""
        self._thread.join(within_s)
        assert not self._thread.is_alive(), "the stream goes on"
        return self.events

    def _read(self) -> None:
        # A server that ends at once may leave a stream without its last chunk.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self._note(urllib.request.urlopen(self._request, timeout=120))  # noqa: S310

    def _note(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if line.startswith(b"data: "):
                self.events.append(line.removeprefix(b"data: ").decode().strip())


def _ask(request: urllib.request.Request) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())
