"""Tells each turn of a client in one line, where HANGAR_TELL_TURNS is set: what was asked, what was answered."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import openai

_LONGEST = 60


def http_client(**more: Any) -> httpx2.Client:
    """OpenAI's own HTTP client, which tells its turns where that is wanted."""
    told = {"transport": _Telling()} if os.environ.get("HANGAR_TELL_TURNS") else {}
    return openai.DefaultHttpxClient(**told, **more)


def async_http_client() -> httpx2.AsyncClient:
    """The same, asynchronous."""
    told = {"transport": _AsyncTelling()} if os.environ.get("HANGAR_TELL_TURNS") else {}
    return openai.DefaultAsyncHttpxClient(**told)


class _Telling(httpx2.HTTPTransport):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = super().handle_request(request)
        except httpx2.TransportError as error:
            _tell(request, 0, b"", type(error).__name__)
            raise
        return _with(response, _Heard(response.stream, request, response.status_code))


class _AsyncTelling(httpx2.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        return _with(response, _AsyncHeard(response.stream, request, response.status_code))


def _with(response: httpx2.Response, stream: Any) -> httpx2.Response:
    return httpx2.Response(
        response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
    )


class _Heard(httpx2.SyncByteStream):
    """A body that is told once it is closed."""

    def __init__(self, inner: Any, request: httpx2.Request, status: int) -> None:
        self._inner, self._request, self._status, self._body = inner, request, status, b""

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            self._body += part
            yield part

    def close(self) -> None:
        self._inner.close()
        _tell(self._request, self._status, self._body)


class _AsyncHeard(httpx2.AsyncByteStream):
    def __init__(self, inner: Any, request: httpx2.Request, status: int) -> None:
        self._inner, self._request, self._status, self._body = inner, request, status, b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._body += part
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
        _tell(self._request, self._status, self._body)


def _tell(request: httpx2.Request, status: int, body: bytes, broken: str | None = None) -> None:
    """One line: the last message, how it was asked, and the answer."""
    if not request.url.path.endswith("/chat/completions"):
        return
    asked = json.loads(request.content)
    last = asked["messages"][-1]
    how = "streamed" if asked.get("stream") else "whole"
    line = f"  turn   {last['role']}: {_short(last.get('content'))} → {how}, {broken or _answer(status, body.decode())}"
    sys.stdout.write(f"\n{line}")


def _answer(status: int, text: str) -> str:
    if text.startswith("data: "):
        events = [event.removeprefix("data: ") for event in text.split("\n\n")[:-1]]
        parts = [json.loads(event) for event in events if event.startswith("{")]
    else:
        parts = [json.loads(text)] if text else []
    if error := next((part["error"] for part in parts if "error" in part), None):
        return f"{status} {error['code']}: {_short(error['message'])}"
    choices = [choice for part in parts for choice in part["choices"]]
    said = [choice.get("message") or choice["delta"] for choice in choices]
    called = [call["function"] for each in said for call in each.get("tool_calls") or []]
    calls = "".join(f"{call.get('name') or ''}{call['arguments']}" for call in called)
    content = "".join(each.get("content") or "" for each in said)
    end = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), "left by the client")
    return f"{end}: {calls or _short(content)}"


def _short(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
