"""Faults that cross the pipe, and how exceptions become one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RuntimeUnverified:
    """The installed runtime differs from its pins."""

    what: str


@dataclass(frozen=True)
class ModelMissing:
    """A file of the model is not there, or its whole folder, which is then named by its path."""

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
    """Prompt and answer do not fit the window.

    `prompt_tokens` is exact for a prompt that was tokenised to its end, and a lower bound for one that was not
    because the part looked at was already too much.
    """

    prompt_tokens: int
    max_tokens: int
    window_tokens: int


@dataclass(frozen=True)
class PromptInvalid:
    """The prompt cannot be turned into tokens or media features."""

    what: str


@dataclass(frozen=True)
class SamplingInvalid:
    """Tokens cannot be chosen that way."""

    field: str
    what: str


@dataclass(frozen=True)
class StateUnknown:
    """The state to go on from is not kept here."""

    state: int


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
    | SamplingInvalid
    | StateUnknown
    | OutOfMemory
    | Engine
)


class FaultError(Exception):
    """Carries a fault from where it is found to the frame that reports it."""

    def __init__(self, fault: Fault) -> None:
        """Wraps one fault."""
        super().__init__(type(fault).__name__)
        self.fault: Fault = fault


class CancelledError(Exception):
    """What is being done is no longer wanted."""


def is_of_client(fault: Fault) -> bool:
    """Whether a request's own content is at fault, and nothing here."""
    return isinstance(fault, ContextLengthExceeded | PromptInvalid | SamplingInvalid | StateUnknown)


def invalid(what: str) -> FaultError:
    """A `prompt_invalid` fault ready to raise."""
    return FaultError(PromptInvalid(what=what))


def sampling_invalid(field: str, what: str) -> FaultError:
    """A `sampling_invalid` fault ready to raise; `what` ends a sentence that begins with the field."""
    return FaultError(SamplingInvalid(field=field, what=what))


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
