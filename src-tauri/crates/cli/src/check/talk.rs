//! One canary asked, and its answer compared.

use std::fmt;

use hangar_gemma::{Answer, Delta, Stop};
use hangar_protocol::{Piece, Sampling};
use hangar_supervisor::{Cause, DispatchError, Job, ReplyEvent, WorkerHandle};

use super::canary::{Canary, Expected};

/// Most tokens of an answer; the longest expected one has about twenty.
const ANSWER_TOKENS: u32 = 48;

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// An answer.
    Answer {
        /// What a client would see.
        visible: String,
        /// Everything, control tokens by name.
        markup: String,
    },
    /// A measurement.
    Apart {
        /// Largest difference of log-probabilities.
        worst: f64,
        /// Places measured at.
        borders: u32,
    },
}

impl fmt::Display for Found {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { markup, .. } => formatter.write_str(markup),
            Self::Apart { worst, borders } => write!(formatter, "{worst:.1e} apart at {borders} borders"),
        }
    }
}

/// Whether the answer is as it must be.
pub(crate) fn satisfies(expected: &Expected, found: &Found) -> bool {
    match (expected, found) {
        (Expected::Text { text }, Found::Answer { visible, .. }) => visible == text,
        (Expected::Markup { markup }, Found::Answer { markup: found, .. }) => {
            found.starts_with(markup.as_str())
        }
        (Expected::Exact { limit }, Found::Apart { worst, borders }) => *worst <= *limit && *borders > 0,
        (Expected::Text { .. } | Expected::Markup { .. }, Found::Apart { .. })
        | (Expected::Exact { .. }, Found::Answer { .. }) => false,
    }
}

/// Asks a worker; an error is told as text, for it is the row's finding.
pub(crate) async fn ask(worker: &WorkerHandle, canary: &Canary) -> Result<Found, String> {
    let found = match canary.expected {
        Expected::Exact { .. } => measure(worker, canary).await,
        Expected::Text { .. } | Expected::Markup { .. } => answer(worker, canary).await,
    };
    found.map_err(|error| told(&error))
}

async fn measure(worker: &WorkerHandle, canary: &Canary) -> Result<Found, DispatchError> {
    let report = worker.probe(canary.prompt.clone()).await?;
    Ok(Found::Apart { worst: report.worst_abs_logprob, borders: report.borders })
}

async fn answer(worker: &WorkerHandle, canary: &Canary) -> Result<Found, DispatchError> {
    let sampling = Sampling { temperature: 0.0, seed: Some(0), ..Sampling::default() };
    let job =
        Job { prompt: canary.prompt.clone(), sampling, max_tokens: ANSWER_TOKENS, base: None, keep: None };
    let mut reply = worker.generate(job).await?;
    let mut answer = Answer::default();
    let (mut visible, mut markup) = (String::new(), String::new());
    while let Some(event) = reply.events.recv().await {
        match event {
            ReplyEvent::Pieces(pieces) => {
                for piece in &pieces.pieces {
                    let (text, piece) = match piece {
                        Piece::Text { text } | Piece::Scored { text, .. } => {
                            (text, hangar_gemma::Piece::Text(text))
                        }
                        Piece::Control { token } => (token, hangar_gemma::Piece::Control(token)),
                    };
                    markup.push_str(text);
                    visible.extend(answer.push(piece).into_iter().filter_map(Delta::into_text));
                }
            }
            ReplyEvent::Finished { .. } => {
                let rest = answer.finish(Stop::Ended).deltas;
                visible.extend(rest.into_iter().filter_map(Delta::into_text));
                return Ok(Found::Answer { visible, markup });
            }
            ReplyEvent::Failed { error, .. } => return Err(error),
            ReplyEvent::Queued { .. }
            | ReplyEvent::Loading(_)
            | ReplyEvent::Progress(_)
            | ReplyEvent::Accepted(_)
            | ReplyEvent::Probed(_) => {}
        }
    }
    Err(DispatchError::ShuttingDown)
}

fn told(error: &DispatchError) -> String {
    let cure = match error {
        DispatchError::WorkerFailed { cause }
        | DispatchError::WorkerNotReady { cause, .. }
        | DispatchError::WorkerCrashed { cause }
        | DispatchError::Stalled { cause } => cause_cure(cause),
        DispatchError::WorkerBusy
        | DispatchError::UnloadRefused
        | DispatchError::QueueFull { .. }
        | DispatchError::QueueTimeout { .. }
        | DispatchError::RequestTimeout { .. }
        | DispatchError::CoolingDown { .. }
        | DispatchError::Cancelled
        | DispatchError::Fault(_)
        | DispatchError::ShuttingDown => None,
    };
    cure.map_or_else(|| error.to_string(), |cure| format!("{error}: {cure}"))
}

fn cause_cure(cause: &Cause) -> Option<String> {
    let tail = match cause {
        Cause::ExitedEarly { stderr_tail, .. }
        | Cause::Crashed { stderr_tail, .. }
        | Cause::Stalled { stderr_tail, .. } => stderr_tail.last().cloned(),
        Cause::RuntimeUnverified { .. }
        | Cause::RuntimeMissing { .. }
        | Cause::SpawnFailed { .. }
        | Cause::WrongProtocol { .. }
        | Cause::ProtocolBroken { .. }
        | Cause::StartTimeout { .. }
        | Cause::LoadTimeout { .. }
        | Cause::Load(_)
        | Cause::Silent
        | Cause::Unresponsive { .. } => None,
    };
    cause.cure().or(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Found {
        Found::Answer { visible: text.into(), markup: format!("{text}<turn|>") }
    }

    #[test]
    fn a_text_must_be_the_very_same_and_nothing_more() {
        let expected = Expected::Text { text: "the color is red.".into() };
        assert!(satisfies(&expected, &answered("the color is red.")));
        assert!(!satisfies(&expected, &answered("the color is red. and blue.")));
        assert!(!satisfies(&expected, &answered("")));
    }

    #[test]
    fn markup_counts_with_its_control_tokens() {
        let expected = Expected::Markup { markup: "<|tool_call>call:a{}<tool_call|>".into() };
        let found = |markup: &str| Found::Answer { visible: String::new(), markup: markup.into() };
        assert!(satisfies(&expected, &found("<|tool_call>call:a{}<tool_call|><|tool_response>")));
        assert!(!satisfies(&expected, &found("call:a{}")));
    }

    #[test]
    fn exactness_needs_a_measurement_within_its_limit() {
        let expected = Expected::Exact { limit: 1e-4 };
        assert!(satisfies(&expected, &Found::Apart { worst: 1e-5, borders: 3 }));
        assert!(!satisfies(&expected, &Found::Apart { worst: 1e-3, borders: 3 }));
        assert!(!satisfies(&expected, &Found::Apart { worst: f64::NAN, borders: 3 }));
        assert!(!satisfies(&expected, &Found::Apart { worst: 0.0, borders: 0 }));
        assert!(!satisfies(&expected, &answered("x")));
    }
}
