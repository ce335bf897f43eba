//! The machine's words: events, effects, states and timers.

use hangar_protocol::{Finished, Phase, ProbeReport, RequestId, StateId, Verdict, WorkerFault};

use crate::{Cause, DispatchError, Exit, Reach};

/// Number of one child process; rises with every spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation(pub u64);

/// Number of one command that waits for its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(pub u64);

/// Everything that can happen.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Demand(RequestId),
    Cancel(RequestId),
    /// Kept states are no longer wanted.
    Forget(Vec<StateId>),
    /// Somebody has state in the worker that is worth more than its memory.
    Held,
    LetGo,
    Unload {
        ticket: Ticket,
        reach: Reach,
    },
    Restart {
        ticket: Ticket,
    },
    Shutdown,
    SpawnFailed {
        generation: Generation,
        cause: Cause,
    },
    Exited {
        generation: Generation,
        status: Exit,
        stderr_tail: Vec<String>,
    },
    Hello {
        generation: Generation,
        protocol: u32,
        verdict: Verdict,
    },
    Loaded {
        generation: Generation,
    },
    LoadFailed {
        generation: Generation,
        fault: WorkerFault,
    },
    Ended {
        generation: Generation,
        request: RequestId,
        end: RequestEnd,
    },
    ProtocolBroken {
        generation: Generation,
        what: String,
    },
    /// The counters moved.
    Advanced {
        generation: Generation,
        doing: Doing,
    },
    TimerFired(Timer),
}

/// How the worker says a request ended.
#[derive(Clone, Debug)]
pub(crate) enum RequestEnd {
    Finished(Finished),
    Probed(ProbeReport),
    Faulted(WorkerFault),
}

/// A moment the machine asked to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Bound to the state that armed it by its epoch.
    State { epoch: u64 },
    /// Running request over its limit.
    Request(RequestId),
    /// Cancelled request not let go.
    CancelGrace(RequestId),
    /// Waiting request over its limit.
    Queue(RequestId),
    /// A child that said hello says nothing any more; armed anew by the task with every frame.
    Silence(Generation),
    /// The counters did not move since this mark.
    Stall { generation: Generation, mark: u64 },
}

/// Everything the machine asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Spawn(Generation),
    SendLoad,
    Dispatch(RequestId),
    SendCancel(RequestId),
    SendForget(Vec<StateId>),
    /// Asks the child to end; the machine arms the grace timer itself.
    Terminate,
    /// Asks the child for the stacks of its threads; needs nothing of its interpreter.
    DumpStacks,
    Kill,
    Arm {
        timer: Timer,
        after_ms: u64,
    },
    Complete {
        request: RequestId,
        outcome: Outcome,
    },
    Settle {
        ticket: Ticket,
        result: Result<(), DispatchError>,
    },
}

/// How a request ends for its caller; each request gets exactly one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Answered(Finished),
    Probed(ProbeReport),
    Failed(DispatchError),
}

/// Lifecycle state with what may exist only in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum State {
    Unloaded,
    Starting,
    Loading,
    Ready,
    Busy { request: RequestId, cancelling: bool },
    Stopping { then: Then, how: How },
    Backoff,
    Failed { cause: Cause },
    Closed,
}

/// What follows once the child is gone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Then {
    Unload,
    Restart,
    Retry(Cause),
    Fail(Cause),
    Close,
}

/// How far the ending of a child has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Asked,
    /// It is stuck: it gets a moment to write its stacks before it is killed.
    Dumping,
    Killed,
}

/// What the child said last that it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doing {
    pub phase: Phase,
    pub done: u64,
    pub total: u64,
    pub step: u64,
}
