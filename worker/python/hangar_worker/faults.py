"""Faults that cross the pipe, and how exceptions become one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RuntimeUnverified:
    """The installed runtime differs from its pins."""

    what: str


@dataclass(frozen=True)
class ModelMissing:
    """A file of the model is not there."""

    file: str


@dataclass(frozen=True)
class ModelDamaged:
    """A file of the model is there but not whole or not readable."""

    file: str
    what: str


@dataclass(frozen=True)
class ModelUnsupported:
    """The model is whole, but not one this worker runs."""

    what: str


@dataclass(frozen=True)
class ContextLengthExceeded:
    """Prompt and answer do not fit the window."""

    prompt_tokens: int
    max_tokens: int
    window_tokens: int


@dataclass(frozen=True)
class PromptInvalid:
    """The prompt cannot be turned into tokens or media features."""

    what: str


@dataclass(frozen=True)
class OutOfMemory:
    """Memory ran out; the worker should be started anew."""

    what: str


@dataclass(frozen=True)
class Engine:
    """Anything the engine raised that has no name here."""

    what: str


Fault = (
    RuntimeUnverified
    | ModelMissing
    | ModelDamaged
    | ModelUnsupported
    | ContextLengthExceeded
    | PromptInvalid
    | OutOfMemory
    | Engine
)


class FaultError(Exception):
    """Carries a fault from where it is found to the frame that reports it."""

    def __init__(self, fault: Fault) -> None:
        """Wraps one fault."""
        super().__init__(type(fault).__name__)
        self.fault: Fault = fault


def invalid(what: str) -> FaultError:
    """A `prompt_invalid` fault ready to raise."""
    return FaultError(PromptInvalid(what=what))


# Words by which the allocators of the CPU and Metal back ends say that memory ran out.
_OUT_OF_MEMORY = (
    "out of memory",
    "insufficient memory",
    "unable to allocate",
    "bad_alloc",
    "[malloc]",
    "metal::malloc",
)


def from_exception(error: BaseException, doing: str) -> Fault:
    """The fault for an exception raised while `doing` something; its text stays behind."""
    if isinstance(error, FaultError):
        return error.fault
    text = str(error).lower()
    if isinstance(error, MemoryError) or any(words in text for words in _OUT_OF_MEMORY):
        return OutOfMemory(what=doing)
    return Engine(what=type(error).__name__)
