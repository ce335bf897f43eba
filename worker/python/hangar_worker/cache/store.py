"""Kept state of one model: what of a prompt need not be read again, and what of it is kept for the next one."""

from collections.abc import Sequence
from typing import Any

from hangar_worker.cache import layers
from hangar_worker.cache.layers import Stretch
from hangar_worker.cache.tree import Node, Tree
from hangar_worker.prompt import TokenPrompt


class StateStore:
    """Every prompt's state that is kept, within a budget."""

    def __init__(self, budget_bytes: int) -> None:
        """Begins empty; with no budget nothing is kept."""
        self._tree: Tree[Stretch] = Tree(budget_bytes)

    @property
    def bytes(self) -> int:
        """Bytes of all that is kept."""
        return self._tree.bytes

    def reuse(self, prompt: TokenPrompt) -> "Reuse":
        """What is there of a prompt; the prompt's last token is always read again, for what comes after it."""
        return Reuse(self._tree, prompt)


class Reuse:
    """One prompt's use of kept state: taken up where it was left, and kept at every border that is read.

    Whatever becomes of the request, `end` has to be called.
    """

    def __init__(self, tree: Tree[Stretch], prompt: TokenPrompt) -> None:
        """Finds the longest stretch that is kept."""
        self._tree = tree
        self._keys = prompt.keys()
        self._borders = prompt.borders
        self._node: Node[Stretch] = tree.longest(self._keys, len(self._keys) - 1)
        self._waiting: list[tuple[int, Stretch]] = []
        tree.hold(self._node)
        self.cached_tokens = self._node.end

    def restore(self, cache: Sequence[Any]) -> None:
        """Puts the state that was found into a new cache."""
        stretches = [node.state for node in self._node.path() if node.state is not None]
        layers.put(cache, stretches, self._node.end)

    def read(self, cache: Sequence[Any], position: int) -> None:
        """The prompt has been read up to here: keeps every border since the last one, once `keep` is called."""
        start = self._waiting[-1][0] if self._waiting else self._node.end
        for border in self._borders:
            if start < border <= min(position, len(self._keys) - 1):
                self._take(cache, start, border)
                start = border

    def keep(self) -> None:
        """Makes the copies that wait: before the cache is written again, and when nobody waits for a token."""
        if not self._waiting:
            return
        layers.evaluate([stretch for _, stretch in self._waiting])
        for end, stretch in self._waiting:
            self._add(end, stretch)
        self._waiting.clear()

    def stopped(self, cache: Sequence[Any], position: int) -> None:
        """Reading was cancelled after this many tokens: keeps them, so that the same prompt goes on from there."""
        self.keep()
        if position > self._node.end:
            self._take(cache, self._node.end, position)
            self.keep()

    def answered(self, cache: Sequence[Any], generated: Sequence[int]) -> None:
        """The answer has ended: keeps what of prompt and answer the cache has read."""
        self.keep()
        end = min(layer.offset for layer in cache)
        self._keys = (*self._keys, *generated)[:end]
        if end > self._node.end:
            self._take(cache, self._node.end, end)
            self.keep()

    def end(self) -> None:
        """Lets go of what was used, and of the least used state that is too much."""
        self._waiting.clear()
        self._tree.let_go(self._node)
        self._tree.trim()

    def _take(self, cache: Sequence[Any], start: int, end: int) -> None:
        if self._tree.budget_bytes:
            self._waiting.append((end, layers.taken(cache, start, end)))

    def _add(self, end: int, stretch: Stretch) -> None:
        node = self._tree.add(self._node, self._keys[self._node.end : end], stretch, layers.nbytes(stretch))
        self._tree.hold(node)
        self._tree.let_go(self._node)
        self._node = node
