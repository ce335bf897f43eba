"""Where a prompt is cut for prefill. Pure."""

from collections.abc import Iterable, Iterator

CANDIDATES = (128, 256, 512, 1024, 2048)
"""Chunk sizes tried when the machine's best one is measured."""


def cut(start: int, end: int, chunk: int, whole: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Chunks from `start` to `end` of about `chunk` tokens, none of which parts a `whole` span.

    A span is half open and may be longer than a chunk; it is then a chunk of its own size.
    """
    spans = sorted(whole)
    at = start
    while at < end:
        border = min(at + chunk, end)
        for first, last in spans:
            if first < border < last:
                border = first if first > at else min(last, end)
        yield at, border
        at = border
