"""Asks a running server over HTTP."""

import json
import urllib.error
import urllib.request
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


def worker_pid(url: str) -> int | None:
    """Process of the worker, where one lives."""
    _, state = get(f"{url}/admin/stats")
    return _find(state, "pid")


def _ask(request: urllib.request.Request) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())


def _find(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        if value.get(name) is not None:
            return value[name]
        return next((found for part in value.values() if (found := _find(part, name)) is not None), None)
    return None
