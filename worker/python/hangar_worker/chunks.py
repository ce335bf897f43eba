"""Where a prompt is cut for prefill. Pure."""

from collections.abc import Collection, Iterable, Iterator

CANDIDATES = (128, 256, 512, 1024, 2048)
"""Chunk sizes tried when the machine's best one is measured."""


# Attention scores (rows times keys) in the last chunk from which a pass for the last token alone pays: that
# chunk's last layers then need not run at all. Below, the extra pass costs more than it saves.
_SCORES_WORTH_A_PASS = 1 << 15


def plan(start: int, end: int, chunk: int, whole: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """The chunks of `cut`, the last token in one of its own where that is quicker."""
    borders = list(cut(start, end, chunk, whole))
    if not borders:
        return []
    first, _ = borders[-1]
    rows = end - first
    inside = any(begin < end - 1 < last for begin, last in whole)
    if rows < 2 or inside or rows * end < _SCORES_WORTH_A_PASS:
        return borders
    return [*borders[:-1], (first, end - 1), (end - 1, end)]


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
