"""One loaded model and what can be asked of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hangar_worker import exactness, frames, load, memory, sampling, warmup
from hangar_worker.cache import Reuse, StateStore
from hangar_worker.constraint import Constraint, Grammars
from hangar_worker.engine import AutoregressiveEngine, Watch
from hangar_worker.faults import CancelledError
from hangar_worker.output import Output
from hangar_worker.prompt import Room, TokenPrompt, tokenize
from hangar_worker.sampling import Chooser

Progress = Callable[[frames.Phase, int, int], None]
Step = tuple[int, tuple[frames.Piece, ...]]


@dataclass(frozen=True)
class Sampler:
    """A checked order to choose tokens, its grammar compiled, and what of the grammar is not enforced."""

    chosen: frames.Sampling
    constraint: Constraint | None
    warnings: tuple[str, ...]


class Answer:
    """Steps of one answer, and after the last one why it ended."""

    def __init__(self, cached_tokens: int, steps: Callable[["Answer"], Iterator[Step]]) -> None:
        """Takes the generator function that makes the steps."""
        self.reason: frames.FinishReason = "length"
        self.cached_tokens = cached_tokens
        self.kept: frames.Kept | None = None
        self._steps = steps

    def __iter__(self) -> Iterator[Step]:
        """Yields (tokens made so far, pieces that became whole)."""
        return self._steps(self)


class Session:
    """A model in memory, warmed up, with its engine."""

    def __init__(
        self,
        model: load.LoadedModel,
        engine: AutoregressiveEngine,
        grammars: Grammars,
        states: StateStore,
        window_tokens: int,
    ) -> None:
        """Binds a loaded model to its engine; `open` does the work before."""
        self._model = model
        self._engine = engine
        self._states = states
        self._grammars = grammars
        self.window_tokens = window_tokens
        self.facts = frames.ModelFacts(
            model_type=str(model.network.model_type),
            parameters=model.parameters,
            vocabulary_tokens=model.vocabulary_tokens,
            image=model.markers.image is not None,
            audio=model.markers.audio is not None,
            prefill_chunk_tokens=engine.chunk_tokens,
        )

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        window_tokens: int,
        chunk_tokens: int | None,
        state_cache_bytes: int,
        progress: Progress,
    ) -> Self:
        """Loads a folder, compiles its kernels and measures the best chunk unless one is given.

        Raises:
            FaultError: when the folder is missing, damaged or not supported.
        """
        model = load.load(folder)
        memory.keep_weights_resident()
        # Takes a second or two for a large vocabulary, while the first runs compile their kernels.
        grammars = Grammars(model.vocabulary, model.vocabulary_tokens, model.end_tokens)
        with load.named_by_config():
            chunk = warmup.run(
                model,
                window_tokens,
                chunk_tokens,
                lambda done, total: progress("warming_up", done, total),
                before_measuring=grammars.wait,
            )
        states = StateStore(state_cache_bytes, model.end_tokens)
        return cls(model, AutoregressiveEngine(model.network, chunk), grammars, states, window_tokens)

    def memory(self) -> frames.MemoryUse:
        """Memory now."""
        return memory.use()

    def release(self) -> None:
        """Gives back what the last request left, where it is much."""
        memory.trim()

    def sampler(self, chosen: frames.Sampling, stop: Callable[[], bool] = lambda: False) -> Sampler:
        """Checks an order and compiles its grammar; `stop` is asked every few milliseconds.

        Raises:
            FaultError: `sampling_invalid` naming the field.
            CancelledError: when told to stop.
        """
        sampling.check(chosen)
        if chosen.grammar is None:
            return Sampler(chosen, None, ())
        return Sampler(chosen, *self._grammars.compile(chosen.grammar, chosen.thought, stop))

    def tokenize(
        self,
        prompt: frames.Prompt,
        max_tokens: int = 0,
        stop: Callable[[], bool] = lambda: False,
        base: int | None = None,
    ) -> TokenPrompt:
        """Turns a rendered prompt into ids and media inputs; `stop` is asked every few milliseconds.

        Raises:
            FaultError: `context_length_exceeded` where the window has no room for prompt and `max_tokens`,
                `state_unknown` where the state to go on from is not kept.
            CancelledError: when told to stop.
        """
        room = Room(self.window_tokens, max_tokens)
        context = self._states.context(base)
        return tokenize(prompt, self._model.vocabulary, self._model.markers, self._model.reader, room, stop, context)

    def probe(self, prompt: frames.Prompt, watch: Watch, stop: Callable[[], bool]) -> frames.ProbeReport:
        """Measures how far warm runs are from a cold one.

        Raises:
            CancelledError: when told to stop.
        """
        return exactness.measure(self._engine, self.tokenize(prompt, stop=stop), watch)

    def forget(self, states: Iterable[int]) -> None:
        """Lets go of kept states, and gives their memory back."""
        self._states.forget(states)
        memory.give_back()

    def answer(  # noqa: PLR0917 - two say what to answer, two how, two when to stop
        self,
        prompt: TokenPrompt,
        sampler: Sampler,
        max_tokens: int,
        watch: Watch,
        stop: Callable[[], bool],
        keep: int | None = None,
    ) -> Answer:
        """Answers a prompt; `watch` is asked between chunks, `stop` between tokens.

        What of the prompt was read before is not read again. The state at the end of an answer that was not
        cancelled is kept under the number `keep`. The steps have to be run to their end or closed.
        """
        reuse = self._states.reuse(prompt, keep)

        def steps(answer: Answer) -> Iterator[Step]:
            try:
                yield from self._steps(answer, reuse, prompt, sampler, max_tokens, watch, stop)
                if keep is not None and answer.reason != "cancelled":
                    answer.kept = self._states.keep(keep, reuse).told()
            finally:
                reuse.end()

        return Answer(reuse.cached_tokens, steps)

    def _steps(  # noqa: PLR0917 - what `answer` was given
        self,
        answer: Answer,
        reuse: Reuse,
        prompt: TokenPrompt,
        sampler: Sampler,
        max_tokens: int,
        watch: Watch,
        stop: Callable[[], bool],
    ) -> Iterator[Step]:
        cache = self._engine.new_cache()
        reuse.restore(cache)
        read = reuse.cached_tokens

        def keep(position: int) -> None:
            nonlocal read
            reuse.read(cache, position)
            if position < len(prompt.ids):
                reuse.keep()
                read = position

        output = Output(self._model.vocabulary, sampler.chosen)
        chooser = Chooser(
            sampler.chosen,
            prompt_ids=prompt.ids,
            control_ids=self._model.vocabulary.control_ids,
            constraint=sampler.constraint,
        )
        made = 0
        try:
            embedded = self._engine.embed(prompt, reuse.cached_tokens)
            logits = self._engine.prefill(embedded, cache, watch=watch, read=keep)
        except CancelledError:
            reuse.stopped(cache, read)
            answer.reason = "cancelled"
            return
        ids: list[int] = []
        for token, choice in self._engine.decode(logits, cache, chooser, max_tokens):
            made += 1
            ids.append(token)
            yield made, output.push(choice, token)
            # Only now, when the first token is on its way; before the cache is written again.
            reuse.keep()
            if output.stopped:
                answer.reason = "stop_text"
                break
            if token in self._model.end_tokens or chooser.is_over:
                answer.reason = "stop"
                break
            if stop():
                answer.reason = "cancelled"
                break
        if rest := output.finish():
            yield made, rest
        reuse.answered(cache, ids)
