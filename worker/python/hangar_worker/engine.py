"""The autoregressive engine: drives the language model directly, chunk by chunk and token by token."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from hangar_worker import chunks
from hangar_worker.faults import CancelledError, Engine, FaultError
from hangar_worker.media import AudioInput, ImageInput, MediaInput
from hangar_worker.prompt import TokenPrompt
from hangar_worker.sampling import Choice, Chooser

Watch = Callable[[int, int, int], bool]
"""Told (done, total, size of the chunk that comes now) before every chunk; answers whether to stop."""

Read = Callable[[int], None]
"""Told up to which position the prompt has been read."""

_CACHE_STATE_EVERY_TOKENS = 50
_IMAGE_TYPE, _AUDIO_TYPE = 1, 3


@dataclass(frozen=True)
class Embedded:
    """A prompt as the language model's first layer reads it."""

    ids: mx.array
    rows: mx.array
    per_layer: mx.array | None
    types: mx.array | None
    whole: tuple[tuple[int, int], ...]
    start: int = 0
    """Position of the first row: what comes before it is in the cache already."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return self.start + int(self.ids.shape[1])


class AutoregressiveEngine:
    """One network, driven without its own generation code."""

    def __init__(self, network: Any, chunk_tokens: int) -> None:
        """Takes a loaded network and the prefill chunk to use."""
        self._network = network
        self._language = network.language_model
        self.chunk_tokens = chunk_tokens
        text = network.config.text_config
        self._blocks_attend_both_ways = text.use_bidirectional_attention == "vision"

    def new_cache(self) -> list[Any]:
        """An empty cache: one entry for every layer that keeps keys and values."""
        made: list[Any] = self._network.make_cache()
        return made

    def embed(self, prompt: TokenPrompt, start: int = 0) -> Embedded:
        """Embeds a prompt from a position on, running each image and clip through its tower by itself.

        One at a time because the network's own way scatters a batch's rows in order, padding rows of the
        shorter clips included.
        """
        ids = mx.array([prompt.ids[start:]])
        embedded = self._network.get_input_embeddings(ids)
        rows = embedded.inputs_embeds
        spans = [span for span in prompt.spans if span.end > start]
        for span in spans:
            features = self._features(span.media).astype(rows.dtype)
            if features.shape[0] != span.end - span.start:
                raise FaultError(Engine(what=f"{span.kind} tower gave another number of rows than its tokens"))
            first = max(span.start, start)
            rows[:, first - start : span.end - start] = features[first - span.start :]
        types = None
        whole: tuple[tuple[int, int], ...] = ()
        if self._blocks_attend_both_ways and any(span.kind == "image" for span in spans):
            marked = [0] * len(prompt.ids)
            for span in spans:
                kind = _IMAGE_TYPE if span.kind == "image" else _AUDIO_TYPE
                marked[span.start : span.end] = [kind] * (span.end - span.start)
            types = mx.array([marked[start:]])
            whole = tuple((span.start, span.end) for span in spans if span.kind == "image")
        return Embedded(ids, rows, embedded.per_layer_inputs, types, whole, start)

    def prefill(
        self,
        prompt: Embedded,
        cache: list[Any],
        *,
        start: int | None = None,
        end: int | None = None,
        chunk_tokens: int | None = None,
        watch: Watch | None = None,
        read: Read | None = None,
    ) -> mx.array:
        """Runs tokens `start` to `end` into the cache; the last token's logits, not yet evaluated.

        Between chunks only the cache state is evaluated: asking for logits there would run the KV-sharing
        layers and the head for every chunk. `read` is told the position after every chunk.

        Raises:
            CancelledError: when the watch says so.
        """
        start = prompt.start if start is None else start
        end = prompt.tokens if end is None else end
        for first, last in chunks.plan(start, end, chunk_tokens or self.chunk_tokens, prompt.whole):
            if watch is not None and watch(first, end, last - first):
                raise CancelledError
            logits = self._chunk(prompt, cache, first, last)
            if last == end:
                if read is not None:
                    read(last)
                return logits
            # Dropped before evaluation, so that what only they need is not kept alive through it.
            del logits
            mx.eval([layer.state for layer in cache])
            if read is not None:
                read(last)
        raise FaultError(Engine(what="nothing to prefill"))

    def pass_at_once(self, prompt: Embedded) -> mx.array:
        """The last token's logits after the whole prompt in one pass over an empty cache, not yet evaluated."""
        return self._chunk(prompt, self.new_cache(), 0, prompt.tokens)

    def decode(
        self, logits: mx.array, cache: list[Any], chooser: Chooser, max_tokens: int
    ) -> Iterator[tuple[int, Choice]]:
        """Tokens with how they were chosen, the next one being computed while the caller handles the present one.

        The first token is handed over before anything is prepared for the second: its time is the one a person
        waits for. Where the next choice has to know the present token, only its logits are computed meanwhile.

        Raises:
            FaultError: when the chooser cannot go on.
        """
        choice = chooser.choose(logits)
        for made in range(1, max_tokens + 1):
            following = self._following(choice, cache, chooser) if 1 < made < max_tokens else None
            token = choice.id
            chooser.took(token)
            yield token, choice
            if made == max_tokens or chooser.is_over:
                return
            if made % _CACHE_STATE_EVERY_TOKENS == 0:
                mx.eval([layer.state for layer in cache])
            following = self._following(choice, cache, chooser) if following is None else following
            choice = following if isinstance(following, Choice) else chooser.choose(following)

    def _following(self, choice: Choice, cache: list[Any], chooser: Chooser) -> Choice | mx.array:
        """The next choice, or the logits to choose from once the present token is known."""
        logits: mx.array = self._language(choice.token[None], cache=cache, logits_to_keep=1).logits[:, -1, :]
        if not chooser.waits:
            return chooser.choose(logits)
        mx.async_eval(logits)
        return logits

    def _chunk(self, prompt: Embedded, cache: list[Any], first: int, last: int) -> mx.array:
        first, last = first - prompt.start, last - prompt.start
        more = {} if prompt.types is None else {"mm_token_type_ids": prompt.types[:, first:last]}
        out = self._language(
            prompt.ids[:, first:last],
            inputs_embeds=prompt.rows[:, first:last],
            per_layer_inputs=None if prompt.per_layer is None else prompt.per_layer[:, first:last],
            cache=cache,
            logits_to_keep=1,
            **more,
        )
        logits: mx.array = out.logits[:, -1, :]
        return logits

    def _features(self, media: MediaInput) -> mx.array:
        match media:
            case ImageInput():
                seen: mx.array = self._network.encode_image(mx.array(media.pixels))
                return seen[0]
            case AudioInput():
                mask = ~mx.array(media.mask)[None]
                heard, _ = self._network.audio_tower(mx.array(media.features)[None], mask)
                projected: mx.array = self._network.embed_audio(heard)
                return projected[0, : media.tokens]


def log_probabilities(logits: mx.array) -> mx.array:
    """The whole next-token distribution in 32-bit floats."""
    wide = logits.astype(mx.float32)
    return wide - mx.logsumexp(wide, axis=-1, keepdims=True)
