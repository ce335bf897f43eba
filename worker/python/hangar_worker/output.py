"""From generated tokens to the pieces that are sent: whole characters, nothing from a stop text on."""

from collections import deque
from collections.abc import Iterable

from hangar_worker import frames
from hangar_worker.sampling import Choice, Score
from hangar_worker.stop import StopTexts
from hangar_worker.tokens import PieceDecoder, Vocabulary

# Between these nothing is visible, and stop texts are not looked for.
_HIDES = frozenset({"<|channel>", "<|tool_call>"})
_SHOWS = frozenset({"<channel|>", "<tool_call|>"})


class Output:
    """Pieces of one answer."""

    def __init__(self, vocabulary: Vocabulary, sampling: frames.Sampling) -> None:
        """Starts with nothing held back."""
        self._vocabulary = vocabulary
        self._decoder = PieceDecoder(vocabulary)
        self._stops = StopTexts(sampling.stop)
        self._is_hidden = sampling.thought == "open"
        self._scores: _Scores | None = None if sampling.logprobs is None else _Scores()

    @property
    def stopped(self) -> bool:
        """Whether a stop text was found; nothing comes after it."""
        return self._stops.found

    def push(self, choice: Choice, token: int) -> tuple[frames.Piece, ...]:
        """Pieces that this token completes."""
        if self._scores is not None and choice.score is not None and self._vocabulary.control_name(token) is None:
            self._scores.add(self._scored(choice.score, token))
        return self._sent(self._decoder.push(token))

    def finish(self) -> tuple[frames.Piece, ...]:
        """What was held back; nothing after a stop text."""
        return (*self._sent(self._decoder.finish()), *self._rest())

    def _sent(self, pieces: Iterable[frames.Piece]) -> tuple[frames.Piece, ...]:
        sent: list[frames.Piece] = []
        for piece in pieces:
            if self.stopped:
                break
            match piece:
                case frames.Text():
                    if self._scores is not None:
                        self._scores.decoded += len(piece.text)
                    sent += self._text(piece.text if self._is_hidden else self._stops.push(piece.text))
                case frames.Control():
                    sent += [*self._rest(), piece]
                    self._is_hidden = piece.token in _HIDES or (self._is_hidden and piece.token not in _SHOWS)
                case frames.Scored():
                    # A decoder knows of no scores.
                    continue
        return tuple(sent)

    def _rest(self) -> list[frames.Piece]:
        return self._text(self._stops.flush())

    def _text(self, text: str) -> list[frames.Piece]:
        if not text:
            return []
        if self._scores is None:
            return [frames.Text(text)]
        return [frames.Scored(text, self._scores.take(len(text)))]

    def _scored(self, score: Score, token: int) -> frames.ScoredToken:
        top = (frames.Candidate(self._bytes(each), logprob) for each, logprob in score.top())
        return frames.ScoredToken(self._bytes(token), score.logprob(), tuple(top))

    def _bytes(self, token: int) -> tuple[int, ...]:
        return tuple(self._vocabulary.token_bytes(token))


class _Scores:
    """Scored tokens that wait for the text they begin in."""

    def __init__(self) -> None:
        self.decoded = 0
        self._sent = 0
        self._waiting: deque[tuple[int, frames.ScoredToken]] = deque()

    def add(self, token: frames.ScoredToken) -> None:
        """Takes a token that begins where the text decoded so far ends."""
        self._waiting.append((self.decoded, token))

    def take(self, characters: int) -> tuple[frames.ScoredToken, ...]:
        """The tokens that begin in the next so many characters."""
        self._sent += characters
        taken: list[frames.ScoredToken] = []
        while self._waiting and self._waiting[0][0] < self._sent:
            taken.append(self._waiting.popleft()[1])
        return tuple(taken)
