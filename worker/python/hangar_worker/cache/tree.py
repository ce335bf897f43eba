"""Which prompts have kept state: a tree of stretches of prompt. Pure: it never looks into the state itself.

A node is a stretch of keys, one key a token, that follows its parent's; prompts that begin alike share nodes. Where a
node ends, state can be taken up again. Nodes go, the least recently used first, when their bytes are over a budget;
never one that others stand on, and never one that is held.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = int
"""A token's identity: its id, or for a soft token of a medium something that no id is (below 0)."""

S = TypeVar("S")


@dataclass(eq=False)
class Node(Generic[S]):
    """A stretch of prompt and the state of its tokens; the root is an empty one."""

    parent: "Node[S] | None"
    keys: tuple[Key, ...]
    end: int
    state: S | None
    state_bytes: int
    used: int = 0
    holds: int = 0
    children: dict[Key, list["Node[S]"]] = field(default_factory=dict)

    @property
    def start(self) -> int:
        """Position of its first token."""
        return self.end - len(self.keys)

    def path(self) -> list["Node[S]"]:
        """From the first stretch to this one, without the root."""
        nodes: list[Node[S]] = []
        at: Node[S] | None = self
        while at is not None and at.parent is not None:
            nodes.append(at)
            at = at.parent
        return nodes[::-1]


class Tree(Generic[S]):
    """All nodes, within a budget of bytes."""

    def __init__(self, budget_bytes: int) -> None:
        """Begins empty."""
        self.budget_bytes = budget_bytes
        self.bytes = 0
        self.root: Node[S] = Node(None, (), 0, None, 0)
        self._clock = 0

    def __iter__(self) -> Iterator[Node[S]]:
        """Every node but the root, parents first."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node is not self.root:
                yield node
            waiting += [child for among in node.children.values() for child in among]

    def longest(self, keys: Sequence[Key], most: int) -> Node[S]:
        """The node that ends last among those whose whole path begins `keys`, at `most` or before."""
        keys = tuple(keys)
        best = self.root
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            best = max(best, node, key=lambda each: each.end)
            if node.end < min(most, len(keys)):
                among = node.children.get(keys[node.end], [])
                waiting += [child for child in among if child.end <= most and keys[node.end : child.end] == child.keys]
        self._touch(best)
        return best

    def add(self, parent: Node[S], keys: Sequence[Key], state: S, state_bytes: int) -> Node[S]:
        """The node of these keys after `parent`; one that is there already is kept as it is."""
        keys = tuple(keys)
        among = parent.children.setdefault(keys[0], [])
        node = next((child for child in among if child.keys == keys), None)
        if node is None:
            node = Node(parent, keys, parent.end + len(keys), state, state_bytes)
            among.append(node)
            self.bytes += state_bytes
        self._touch(node)
        return node

    def hold(self, node: Node[S]) -> None:
        """Keeps a node, and what it stands on, from going until it is let go as often as it was held."""
        node.holds += 1

    def let_go(self, node: Node[S]) -> None:
        """Ends one hold."""
        node.holds -= 1

    def drop(self, node: Node[S]) -> None:
        """Lets a node go at once, and what only it stood on, as far as nobody else needs them."""
        at: Node[S] | None = node
        while at is not None and at.parent is not None and not at.children and not at.holds:
            self._remove(at)
            at = at.parent

    def trim(self) -> int:
        """Lets nodes go until the budget is kept or nothing may go; how many went."""
        gone = 0
        while self.bytes > self.budget_bytes:
            free = [node for node in self if not node.children and not node.holds]
            if not free:
                break
            self._remove(min(free, key=lambda node: node.used))
            gone += 1
        return gone

    def _touch(self, node: Node[S]) -> None:
        self._clock += 1
        for each in node.path():
            each.used = self._clock

    def _remove(self, node: Node[S]) -> None:
        if node.parent is None:
            return
        among = node.parent.children[node.keys[0]]
        among.remove(node)
        if not among:
            del node.parent.children[node.keys[0]]
        self.bytes -= node.state_bytes
        node.state = None
