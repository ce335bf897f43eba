//! What the worker's side says, as an error for the client.

use hangar_protocol::WorkerFault;
use hangar_supervisor::{Cause, DispatchError};

use super::ApiError;
use crate::drones::DroneError;
use crate::pace::Pace;

const RESTART: &str =
    "Then restart its worker: POST /admin/worker/restart (with ?profile=NAME unless it is the default)";

/// Translates a failure; what a client must not see is logged here, once.
pub(crate) fn from_dispatch(error: &DispatchError, pace: &Pace) -> ApiError {
    match error {
        DispatchError::WorkerBusy => ApiError::WorkerBusy { retry_after_s: pace.retry_after_s(1) },
        DispatchError::UnloadRefused => ApiError::UnloadRefused { retry_after_s: pace.retry_after_s(1) },
        DispatchError::QueueFull { depth } => ApiError::QueueFull {
            depth: *depth,
            retry_after_s: pace.retry_after_s(depth.saturating_add(1)),
            as_429: false,
        },
        DispatchError::QueueTimeout { limit_ms } => ApiError::Timeout {
            what: "Waiting for a turn",
            limit_ms: *limit_ms,
            cure: "Try again when less is going on, or raise worker.queue.maxWaitMs",
        },
        DispatchError::RequestTimeout { limit_ms } => ApiError::Timeout {
            what: "The answer",
            limit_ms: *limit_ms,
            cure: "Ask for fewer tokens, or raise worker.requestTimeoutMs",
        },
        DispatchError::CoolingDown { remaining_ms, failures } => ApiError::WorkerNotReady {
            what: format!("it cools down after {failures} failures"),
            retry_after_s: remaining_ms.div_ceil(1000).max(1),
        },
        DispatchError::WorkerFailed { cause } => failed(cause),
        DispatchError::WorkerNotReady { cause, retry_ms } => not_ready(cause, *retry_ms),
        DispatchError::WorkerCrashed { cause } => crashed(cause),
        DispatchError::Stalled { cause } => {
            log(cause);
            ApiError::WorkerStalled { what: cause.to_string() }
        }
        DispatchError::Cancelled => ApiError::WorkerNotReady {
            what: "it was unloaded by command, or the client read too slowly".to_owned(),
            retry_after_s: 1,
        },
        DispatchError::Fault(fault) => faulted(fault),
        DispatchError::ShuttingDown => ApiError::ShuttingDown,
    }
}

fn failed(cause: &Cause) -> ApiError {
    log(cause);
    let cure = cause.cure().map(|cure| capitalised(&cure));
    match cause {
        Cause::RuntimeUnverified { what, .. } | Cause::Load(WorkerFault::RuntimeUnverified { what }) => {
            let cure = cure.unwrap_or_else(|| "Run `hangar runtime repair`".to_owned());
            ApiError::RuntimeUnverified { what: what.clone(), cure: format!("{cure}. {RESTART}") }
        }
        Cause::RuntimeMissing { .. } => {
            let cure = cure.unwrap_or_else(|| "Run `hangar runtime ensure`".to_owned());
            ApiError::RuntimeUnverified {
                what: "it is not there".to_owned(),
                cure: format!("{cure}. {RESTART}"),
            }
        }
        Cause::SpawnFailed { .. }
        | Cause::ExitedEarly { .. }
        | Cause::Crashed { .. }
        | Cause::WrongProtocol { .. }
        | Cause::ProtocolBroken { .. }
        | Cause::StartTimeout { .. }
        | Cause::LoadTimeout { .. }
        | Cause::Load(_)
        | Cause::Silent
        | Cause::Stalled { .. }
        | Cause::Unresponsive { .. } => {
            let first = cure.unwrap_or_else(|| "Look into the log for the reason".to_owned());
            ApiError::WorkerFailed { what: cause.to_string(), cure: format!("{first}. {RESTART}") }
        }
    }
}

fn not_ready(cause: &Cause, retry_ms: Option<u64>) -> ApiError {
    if !cause.retryable() {
        return failed(cause);
    }
    log(cause);
    ApiError::WorkerNotReady {
        what: cause.to_string(),
        retry_after_s: retry_ms.map_or(2, |ms| ms.div_ceil(1000).max(1)),
    }
}

fn crashed(cause: &Cause) -> ApiError {
    log(cause);
    let what = cause.to_string();
    match cause {
        Cause::Unresponsive { .. } | Cause::Silent | Cause::Stalled { .. } => {
            ApiError::WorkerStalled { what }
        }
        Cause::RuntimeUnverified { .. }
        | Cause::RuntimeMissing { .. }
        | Cause::SpawnFailed { .. }
        | Cause::ExitedEarly { .. }
        | Cause::Crashed { .. }
        | Cause::WrongProtocol { .. }
        | Cause::ProtocolBroken { .. }
        | Cause::StartTimeout { .. }
        | Cause::LoadTimeout { .. }
        | Cause::Load(_) => ApiError::WorkerCrashed { what },
    }
}

fn faulted(fault: &WorkerFault) -> ApiError {
    match fault {
        WorkerFault::ContextLengthExceeded { prompt_tokens, max_tokens, window_tokens } => {
            ApiError::ContextLengthExceeded {
                prompt_tokens: *prompt_tokens,
                answer_tokens: Some(*max_tokens),
                window_tokens: *window_tokens,
            }
        }
        WorkerFault::PromptInvalid { what } => ApiError::BadRequest {
            param: Some("messages".to_owned()),
            what: format!("messages cannot be read by the model: {what}."),
        },
        WorkerFault::SamplingInvalid { field, what } => {
            let param = match field.as_str() {
                "grammar.tools" => "tools",
                "grammar" | "grammar.schema_json" => "response_format",
                other => other,
            };
            ApiError::BadRequest { param: Some(param.to_owned()), what: format!("{param} {what}.") }
        }
        WorkerFault::StateUnknown { .. } => DroneError::Lost.into(),
        WorkerFault::OutOfMemory { what } => {
            ApiError::WorkerCrashed { what: format!("out of memory: {what}") }
        }
        WorkerFault::Engine { what } => {
            tracing::error!(%what, "the engine failed");
            ApiError::WorkerCrashed { what: "the engine raised an error".to_owned() }
        }
        WorkerFault::RuntimeUnverified { .. }
        | WorkerFault::ModelMissing { .. }
        | WorkerFault::ModelDamaged { .. }
        | WorkerFault::ModelUnsupported { .. } => failed(&Cause::Load(fault.clone())),
    }
}

/// The tail of the worker's log is in the log already.
fn log(cause: &Cause) {
    tracing::warn!(kind = cause.kind(), %cause, "a request met a worker in trouble");
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use hangar_supervisor::Exit;

    use super::*;

    fn word(error: DispatchError) -> &'static str {
        from_dispatch(&error, &Pace::default()).code().word()
    }

    #[test]
    fn every_failure_of_the_worker_gets_its_row_of_the_table() {
        let crash = Cause::Crashed { status: Exit::Signal(9), stderr_tail: vec!["secret".into()] };
        let unverified = Cause::RuntimeUnverified { what: "x".into(), cure: "run y".into() };
        let damaged = WorkerFault::ModelDamaged { file: "a".into(), what: "b".into() };
        for (error, expected) in [
            (DispatchError::WorkerBusy, "worker_busy"),
            (DispatchError::UnloadRefused, "worker_busy"),
            (DispatchError::QueueFull { depth: 4 }, "queue_full"),
            (DispatchError::QueueTimeout { limit_ms: 1 }, "timeout"),
            (DispatchError::RequestTimeout { limit_ms: 1 }, "timeout"),
            (DispatchError::CoolingDown { remaining_ms: 1, failures: 3 }, "worker_not_ready"),
            (DispatchError::WorkerFailed { cause: unverified.clone() }, "runtime_unverified"),
            (DispatchError::WorkerNotReady { cause: unverified, retry_ms: None }, "runtime_unverified"),
            (
                DispatchError::WorkerFailed { cause: Cause::RuntimeMissing { cure: "run z".into() } },
                "runtime_unverified",
            ),
            (DispatchError::WorkerFailed { cause: Cause::Load(damaged.clone()) }, "worker_failed"),
            (
                DispatchError::WorkerNotReady { cause: crash.clone(), retry_ms: Some(15_000) },
                "worker_not_ready",
            ),
            (DispatchError::WorkerCrashed { cause: crash }, "worker_crashed"),
            (DispatchError::WorkerCrashed { cause: Cause::Unresponsive { limit_ms: 1 } }, "worker_stalled"),
            (DispatchError::Stalled { cause: Cause::Silent }, "worker_stalled"),
            (DispatchError::Fault(WorkerFault::PromptInvalid { what: "x".into() }), "bad_request"),
            (
                DispatchError::Fault(WorkerFault::SamplingInvalid {
                    field: "stop".into(),
                    what: "is x".into(),
                }),
                "bad_request",
            ),
            (DispatchError::Fault(WorkerFault::OutOfMemory { what: "x".into() }), "worker_crashed"),
            (DispatchError::Fault(damaged), "worker_failed"),
            (DispatchError::ShuttingDown, "shutting_down"),
        ] {
            assert_eq!(word(error), expected);
        }
    }

    #[test]
    fn the_log_of_a_dead_worker_is_never_sent() {
        let cause = Cause::Crashed { status: Exit::Signal(9), stderr_tail: vec!["secret".into()] };
        for error in [
            DispatchError::WorkerCrashed { cause: cause.clone() },
            DispatchError::WorkerFailed { cause: cause.clone() },
            DispatchError::WorkerNotReady { cause, retry_ms: None },
        ] {
            assert!(!from_dispatch(&error, &Pace::default()).to_string().contains("secret"));
        }
    }
}
