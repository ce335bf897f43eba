"""Frames of the pipe, field for field as the protocol crate declares them."""

from dataclasses import dataclass, field
from typing import Literal

from hangar_worker.faults import Fault

PROTOCOL_VERSION = 5
"""Version of every shape here; the server refuses a worker that says another."""


@dataclass(frozen=True)
class Text:
    """Literal text: never read as control tokens, whatever it spells."""

    text: str


@dataclass(frozen=True)
class Control:
    """One control token by its name in the tokenizer."""

    token: str


@dataclass(frozen=True)
class Image:
    """An image by its index in the prompt's media."""

    media: int


@dataclass(frozen=True)
class Audio:
    """An audio clip by its index in the prompt's media."""

    media: int


Segment = Text | Control | Image | Audio


@dataclass(frozen=True)
class Candidate:
    """A token that might have been generated, and the logarithm of its probability."""

    bytes: tuple[int, ...]
    logprob: float


@dataclass(frozen=True)
class ScoredToken:
    """A generated text token and the likeliest tokens in its place."""

    bytes: tuple[int, ...]
    logprob: float
    top: tuple[Candidate, ...]


@dataclass(frozen=True)
class Scored:
    """Text with the tokens that begin in it."""

    text: str
    tokens: tuple[ScoredToken, ...]


Piece = Text | Control | Scored


@dataclass(frozen=True)
class Rgb8:
    """Interleaved 8-bit RGB rows, top to bottom."""

    width: int
    height: int
    data_base64: str = field(repr=False)


@dataclass(frozen=True)
class Pcm16k:
    """Mono samples at 16 kHz, 32-bit little-endian float."""

    data_base64: str = field(repr=False)


Media = Rgb8 | Pcm16k


@dataclass(frozen=True)
class Group:
    """The segments of one message."""

    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt: groups in order, and the media their segments point at."""

    groups: tuple[Group, ...]
    media: tuple[Media, ...]


@dataclass(frozen=True)
class JsonObject:
    """Any JSON object."""


@dataclass(frozen=True)
class JsonSchema:
    """JSON as a schema wants it; the schema as JSON text, so that the order of its properties is kept."""

    schema_json: str


@dataclass(frozen=True)
class CallableTool:
    """A tool that may be called, and the schema of its arguments as JSON text."""

    name: str
    parameters_json: str


@dataclass(frozen=True)
class ToolCalls:
    """Calls in the model's own notation and nothing else."""

    tools: tuple[CallableTool, ...]
    parallel: bool


Grammar = JsonObject | JsonSchema | ToolCalls
Thought = Literal["off", "allowed", "open"]


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; the protocol crate says what each field means. The defaults change nothing."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    grammar: Grammar | None = None
    thought: Thought = "off"


@dataclass(frozen=True)
class Load:
    """Which model to load, and how."""

    model_dir: str
    context_window_tokens: int
    prefill_chunk_tokens: int | None
    state_cache_bytes: int


@dataclass(frozen=True)
class Generate:
    """One prompt to answer, from a kept state on, and the number to keep the state at its end under."""

    request: int
    prompt: Prompt
    sampling: Sampling
    max_tokens: int
    base: int | None = None
    keep: int | None = None


@dataclass(frozen=True)
class Forget:
    """Names kept states to let go of."""

    states: tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """Measures warm runs against a cold one at every group border."""

    request: int
    prompt: Prompt


@dataclass(frozen=True)
class Cancel:
    """Names the request to stop; answered below Python."""

    request: int


@dataclass(frozen=True)
class Ping:
    """Asks for a sign of life; answered below Python."""

    nonce: int


@dataclass(frozen=True)
class Shutdown:
    """Finish what is running, then exit."""


ToWorker = Load | Generate | Probe | Cancel | Forget | Ping | Shutdown

Phase = Literal["idle", "loading", "warming_up", "prefill", "decode", "probing"]
FinishReason = Literal["stop", "stop_text", "length", "cancelled"]


@dataclass(frozen=True)
class Verified:
    """Versions and file hashes are as pinned."""


@dataclass(frozen=True)
class Differs:
    """Something differs; the worker refuses to load."""

    what: str


Verdict = Verified | Differs


@dataclass(frozen=True)
class Hello:
    """Who this worker is, before it loads anything."""

    protocol: int
    worker: str
    python: str
    mlx: str
    mlx_vlm: str
    pid: int
    verdict: Verdict


@dataclass(frozen=True)
class Beat:
    """Periodic counters; sent below Python."""

    sequence: int
    phase: Phase
    request: int | None
    done: int
    total: int
    step: int


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a loaded model."""

    model_type: str
    parameters: int
    vocabulary_tokens: int
    image: bool
    audio: bool
    prefill_chunk_tokens: int


@dataclass(frozen=True)
class MemoryUse:
    """Memory as the engine counts it."""

    active_bytes: int
    peak_bytes: int
    cache_bytes: int


@dataclass(frozen=True)
class Loaded:
    """A model is ready."""

    model: ModelFacts
    load_ms: int
    memory: MemoryUse


@dataclass(frozen=True)
class LoadFailed:
    """The model could not be loaded."""

    fault: Fault


@dataclass(frozen=True)
class Accepted:
    """A prompt was tokenised and fits."""

    request: int
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True)
class Pieces:
    """Output as it is generated; `made_tokens` counts also those that no piece tells of yet."""

    request: int
    made_tokens: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class TokenUse:
    """Token counts of one request."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Timings:
    """Durations of one request."""

    prefill_ms: float
    generation_ms: float


@dataclass(frozen=True)
class Kept:
    """A state that is kept under a number: the tokens of its context, and the bytes of their state."""

    context_tokens: int
    bytes: int


@dataclass(frozen=True)
class Finished:
    """A request ended in order."""

    request: int
    reason: FinishReason
    tokens: TokenUse
    timings: Timings
    memory: MemoryUse
    warnings: tuple[str, ...]
    kept: Kept | None = None


@dataclass(frozen=True)
class Failed:
    """A request ended with a fault."""

    request: int
    fault: Fault


@dataclass(frozen=True)
class ProbeReport:
    """How far warm runs were from the cold run."""

    worst_abs_logprob: float
    borders: int
    prompt_tokens: int


@dataclass(frozen=True)
class Probed:
    """Answer to a probe."""

    request: int
    report: ProbeReport


@dataclass(frozen=True)
class Pong:
    """Answer to a ping; sent below Python."""

    nonce: int


FromWorker = Hello | Beat | Loaded | LoadFailed | Accepted | Pieces | Finished | Failed | Probed | Pong
