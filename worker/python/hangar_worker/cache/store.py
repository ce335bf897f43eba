"""Kept state of one model: what of a prompt need not be read again, and what of it is kept for the next one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hangar_worker import frames
from hangar_worker.cache import layers
from hangar_worker.cache.layers import Stretch
from hangar_worker.cache.tree import Node, Tree
from hangar_worker.faults import FaultError, StateUnknown
from hangar_worker.prompt import NOTHING, Context, TokenPrompt


@dataclass(frozen=True)
class Kept:
    """A state under a number: all ids that led to it, what each is, and the node of those that were read."""

    ids: tuple[int, ...]
    keys: tuple[int, ...]
    node: Node[Stretch]

    def told(self) -> frames.Kept:
        """Its size, as the server hears of it."""
        return frames.Kept(len(self.ids), sum(node.state_bytes for node in self.node.path()))


class StateStore:
    """Every prompt's state that is kept: what others may begin with, within a budget, and what has a number."""

    def __init__(self, budget_bytes: int, end_tokens: frozenset[int] = frozenset()) -> None:
        """Begins empty; with no budget only what gets a number is kept."""
        self._tree: Tree[Stretch] = Tree(budget_bytes)
        self._end_tokens = end_tokens
        self._kept: dict[int, Kept] = {}

    @property
    def bytes(self) -> int:
        """Bytes of all that is kept."""
        return self._tree.bytes

    def context(self, number: int | None) -> Context:
        """What a prompt goes on from.

        Raises:
            FaultError: `state_unknown`.
        """
        if number is None:
            return NOTHING
        kept = self._kept.get(number)
        if kept is None:
            raise FaultError(StateUnknown(number))
        return Context(kept.ids, kept.keys, self._end_tokens)

    def reuse(self, prompt: TokenPrompt, number: int | None = None) -> "Reuse":
        """What is there of a prompt; the prompt's last token is always read again, for what comes after it.

        The state at the end of its answer is kept under a number where one is given.
        """
        return Reuse(self._tree, prompt, keeps=bool(self._tree.budget_bytes) or number is not None)

    def keep(self, number: int, reuse: "Reuse") -> Kept:
        """Keeps the end of an answer under a number."""
        kept = Kept(reuse.ids, reuse.keys, reuse.node)
        self.forget([number])
        self._tree.hold(kept.node)
        self._kept[number] = kept
        return kept

    def forget(self, numbers: Iterable[int]) -> None:
        """Lets go of states; those that are not there are passed over."""
        for number in numbers:
            if (kept := self._kept.pop(number, None)) is not None:
                self._tree.let_go(kept.node)
                self._tree.drop(kept.node)
        self._tree.trim()


class Reuse:
    """One prompt's use of kept state: taken up where it was left, and kept at every border that is read.

    Whatever becomes of the request, `end` has to be called.
    """

    def __init__(self, tree: Tree[Stretch], prompt: TokenPrompt, *, keeps: bool) -> None:
        """Finds the longest stretch that is kept."""
        self._tree = tree
        self._keeps = keeps
        self._borders = prompt.borders
        self._waiting: list[tuple[int, Stretch]] = []
        self.ids = prompt.ids
        self.keys = prompt.keys()
        self.node: Node[Stretch] = tree.longest(self.keys, len(self.keys) - 1)
        self.cached_tokens = self.node.end
        tree.hold(self.node)

    def restore(self, cache: Sequence[Any]) -> None:
        """Puts the state that was found into a new cache."""
        stretches = [node.state for node in self.node.path() if node.state is not None]
        layers.put(cache, stretches, self.node.end)

    def read(self, cache: Sequence[Any], position: int) -> None:
        """The prompt has been read up to here: keeps every border since the last one, once `keep` is called."""
        start = self._waiting[-1][0] if self._waiting else self.node.end
        for border in self._borders:
            if start < border <= min(position, len(self.keys) - 1):
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
        if position > self.node.end:
            self._take(cache, self.node.end, position)
            self.keep()

    def answered(self, cache: Sequence[Any], generated: Sequence[int]) -> None:
        """The answer has ended: keeps what of prompt and answer the cache has read."""
        self.keep()
        end = min(layer.offset for layer in cache)
        self.ids, self.keys = (*self.ids, *generated), (*self.keys, *generated)
        if end > self.node.end:
            self._take(cache, self.node.end, end)
            self.keep()

    def end(self) -> None:
        """Lets go of what was used, and of the least used state that is too much."""
        self._waiting.clear()
        self._tree.let_go(self.node)
        self._tree.trim()

    def _take(self, cache: Sequence[Any], start: int, end: int) -> None:
        if self._keeps:
            self._waiting.append((end, layers.taken(cache, start, end)))

    def _add(self, end: int, stretch: Stretch) -> None:
        node = self._tree.add(self.node, self.keys[self.node.end : end], stretch, layers.nbytes(stretch))
        self._tree.hold(node)
        self._tree.let_go(self.node)
        self.node = node
