"""Carries out the commands of one pipe: load, generate, probe, shutdown."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from hangar_worker import codec, faults, frames, log
from hangar_worker.faults import CancelledError, Engine, Fault, FaultError, RuntimeUnverified, invalid
from hangar_worker.pipe import Pipe, send

if TYPE_CHECKING:
    from hangar_worker.session import Session


class Service:
    """Answers commands until told to stop; a fault ends a request, never the worker."""

    def __init__(self, pipe: Pipe, verdict: frames.Verdict) -> None:
        """Takes the pipe and what verification said."""
        self._pipe = pipe
        self._verdict = verdict
        self._session: Session | None = None

    def run(self) -> None:
        """Answers commands until `shutdown`."""
        while True:
            try:
                command = codec.decode_to_worker(self._pipe.next_command())
            except codec.CodecError as error:
                log.event("error", "command_unreadable", where=str(error))
                continue
            if isinstance(command, frames.Shutdown):
                return
            self.handle(command)

    def handle(self, command: frames.ToWorker) -> None:
        """Answers one command."""
        match command:
            case frames.Load():
                self._load(command)
            case frames.Generate():
                self._answer(command, "generating")
            case frames.Probe():
                self._answer(command, "probing")
            case frames.Forget():
                if self._session is not None:
                    self._session.forget(command.states)
            case frames.Cancel() | frames.Ping() | frames.Shutdown():
                log.event("warn", "command_unexpected", type=type(command).__name__)

    def _load(self, command: frames.Load) -> None:
        started = time.monotonic()
        self._pipe.progress("loading", None, 0, 0)
        self._session = None
        try:
            if isinstance(self._verdict, frames.Differs):
                raise FaultError(RuntimeUnverified(what=self._verdict.what))
            # Imports the runtime's packages, which only a verified runtime is sure to have.
            from hangar_worker.session import Session  # noqa: PLC0415

            session = Session.open(
                Path(command.model_dir),
                window_tokens=command.context_window_tokens,
                chunk_tokens=command.prefill_chunk_tokens,
                state_cache_bytes=command.state_cache_bytes,
                progress=lambda phase, done, total: self._pipe.progress(phase, None, done, total),
            )
        except Exception as error:  # noqa: BLE001 - every failure must reach the server as a fault
            fault = _fault(error, "loading the model", has_prompt=False)
            log.event("error", "load_failed", code=type(fault).__name__)
            send(self._pipe, frames.LoadFailed(fault=fault))
        else:
            self._session = session
            load_ms = round((time.monotonic() - started) * 1000)
            log.event("info", "loaded", load_ms=load_ms, chunk_tokens=session.facts.prefill_chunk_tokens)
            send(self._pipe, frames.Loaded(model=session.facts, load_ms=load_ms, memory=session.memory()))
        finally:
            self._pipe.progress("idle", None, 0, 0)

    def _answer(self, command: frames.Generate | frames.Probe, doing: str) -> None:
        try:
            if self._session is None:
                raise FaultError(Engine(what="no model is loaded"))
            match command:
                case frames.Generate():
                    self._generate(self._session, command)
                case frames.Probe():
                    self._probe(self._session, command)
        except CancelledError:
            self._cancelled(command.request)
        except Exception as error:  # noqa: BLE001 - every failure must reach the server as a fault
            fault = _fault(error, doing, has_prompt=True)
            level: log.Level = "info" if faults.is_of_client(fault) else "error"
            log.event(level, "request_failed", request=command.request, code=type(fault).__name__)
            send(self._pipe, frames.Failed(request=command.request, fault=fault))
        finally:
            if self._session is not None:
                self._session.release()
            self._pipe.progress("idle", None, 0, 0)

    def _cancelled(self, request: int) -> None:
        """Ends a request of which nothing was answered yet."""
        log.event("info", "finished", request=request, reason="cancelled", prompt_tokens=0, completion_tokens=0)
        none = frames.TokenUse(prompt_tokens=0, cached_tokens=0, completion_tokens=0)
        memory = self._session.memory() if self._session is not None else frames.MemoryUse(0, 0, 0)
        send(self._pipe, frames.Finished(request, "cancelled", none, frames.Timings(0.0, 0.0), memory, ()))

    def _probe(self, session: "Session", command: frames.Probe) -> None:
        pipe, request = self._pipe, command.request
        pipe.progress("probing", request, 0, 0)

        def watch(done: int, total: int, step: int) -> bool:
            pipe.progress("probing", request, done, total, step)
            return pipe.cancelled(request)

        report = session.probe(command.prompt, watch, lambda: pipe.cancelled(request))
        send(pipe, frames.Probed(request=request, report=report))

    def _generate(self, session: "Session", command: frames.Generate) -> None:
        pipe, request = self._pipe, command.request
        if command.max_tokens < 1:
            raise invalid("max_tokens must be at least 1")
        # A large grammar or a long prompt takes seconds: that is work on it already.
        pipe.progress("prefill", request, 0, 0)
        sampler = session.sampler(command.sampling, lambda: pipe.cancelled(request))
        prompt = session.tokenize(command.prompt, command.max_tokens, lambda: pipe.cancelled(request), command.base)
        tokens = len(prompt.ids)
        first: float | None = None
        made = 0

        def watch(done: int, total: int, step: int) -> bool:
            pipe.progress("prefill", request, done, total, step)
            return pipe.cancelled(request)

        answer = session.answer(
            prompt, sampler, command.max_tokens, watch, lambda: pipe.cancelled(request), command.keep
        )
        cached = answer.cached_tokens
        send(pipe, frames.Accepted(request=request, prompt_tokens=tokens, cached_tokens=cached))
        accepted = time.monotonic()
        pipe.progress("prefill", request, cached, tokens)
        for made, pieces in answer:
            if first is None:
                first = time.monotonic()
            pipe.progress("decode", request, made, command.max_tokens)
            if pieces:
                send(pipe, frames.Pieces(request=request, made_tokens=made, pieces=pieces))
        ended = time.monotonic()
        timings = frames.Timings(
            prefill_ms=((first or ended) - accepted) * 1000,
            generation_ms=(ended - (first or ended)) * 1000,
        )
        use = frames.TokenUse(prompt_tokens=tokens, cached_tokens=cached, completion_tokens=made)
        log.event(
            "info",
            "finished",
            request=request,
            reason=answer.reason,
            prompt_tokens=tokens,
            cached_tokens=cached,
            completion_tokens=made,
        )
        used, warnings = session.memory(), sampler.warnings
        send(pipe, frames.Finished(request, answer.reason, use, timings, used, warnings, answer.kept))


def _fault(error: Exception, doing: str, *, has_prompt: bool) -> Fault:
    if not isinstance(error, FaultError):
        log.exception("exception", error, with_text=not has_prompt)
    return faults.from_exception(error, doing)
