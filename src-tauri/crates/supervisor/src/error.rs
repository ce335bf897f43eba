//! Why a request was not answered, or a command not carried out.

use hangar_protocol::WorkerFault;

use crate::Cause;

/// Every way in which the worker's side fails a caller; it knows no status codes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DispatchError {
    /// No queue is configured and a request is running.
    #[error("worker is busy and no queue is configured")]
    WorkerBusy,
    /// An unload was asked for while a request runs, or sessions live in the worker.
    #[error("worker is busy with a request or holds sessions")]
    UnloadRefused,
    /// The queue holds as many as it may.
    #[error("queue is full with {depth} waiting")]
    QueueFull {
        /// Requests waiting.
        depth: u32,
    },
    /// The request waited longer than `worker.queue.maxWaitMs`.
    #[error("request waited {limit_ms} ms without its turn coming")]
    QueueTimeout {
        /// The limit.
        limit_ms: u64,
    },
    /// The answer took longer than `worker.requestTimeoutMs`.
    #[error("request ran over {limit_ms} ms")]
    RequestTimeout {
        /// The limit.
        limit_ms: u64,
    },
    /// The worker cools down after failures.
    #[error("worker starts again in {remaining_ms} ms after {failures} failures")]
    CoolingDown {
        /// Until the next start.
        remaining_ms: u64,
        /// Failures in a row.
        failures: u32,
    },
    /// The worker failed for good; only a restart helps.
    #[error("worker failed: {cause}")]
    WorkerFailed {
        /// Why.
        cause: Cause,
    },
    /// The worker could not be started or ended before the request began.
    #[error("worker did not get ready: {cause}")]
    WorkerNotReady {
        /// Why.
        cause: Cause,
        /// Until the next start, where one is due.
        retry_ms: Option<u64>,
    },
    /// The worker died while the request ran.
    #[error("worker died during the request: {cause}")]
    WorkerCrashed {
        /// Why.
        cause: Cause,
    },
    /// The worker lived but made no progress, and was ended.
    #[error("worker got stuck during the request: {cause}")]
    Stalled {
        /// Why.
        cause: Cause,
    },
    /// The request was cancelled (client gone, or worker unloaded by force).
    #[error("request was cancelled")]
    Cancelled,
    /// The worker answered with a fault.
    #[error(transparent)]
    Fault(#[from] WorkerFault),
    /// The service ends.
    #[error("service is shutting down")]
    ShuttingDown,
}
