"""Stop texts, found however the text is cut."""

from collections.abc import Sequence


class StopTexts:
    """Lets text through up to the first stop text, holding back only what may be the beginning of one.

    The first is the one that is complete first; of those complete at once, the one that begins first.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """Takes texts of which none is empty; with none of them everything is let through at once."""
        self._stops = tuple(stops)
        self._held = ""
        self.found = False

    def push(self, text: str) -> str:
        """What can be shown now."""
        if self.found or not self._stops:
            return "" if self.found else text
        held = self._held + text
        found = [(at + len(stop), at) for stop in self._stops if (at := held.find(stop)) >= 0]
        if found:
            self.found, self._held = True, ""
            return held[: min(found)[1]]
        kept = self._may_begin(held)
        shown, self._held = held[: len(held) - kept], held[len(held) - kept :]
        return shown

    def flush(self) -> str:
        """What was held back and now cannot become a stop text any more."""
        held, self._held = self._held, ""
        return held

    def _may_begin(self, text: str) -> int:
        """Length of the longest end of the text that begins a stop text."""
        longest = min(len(text), max(len(stop) for stop in self._stops) - 1)
        for length in range(longest, 0, -1):
            end = text[len(text) - length :]
            if any(stop.startswith(end) for stop in self._stops):
                return length
        return 0
