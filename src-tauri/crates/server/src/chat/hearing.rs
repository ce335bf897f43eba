//! What of a worker's pieces a client gets to know.

use hangar_gemma::{Answer, AnswerEnd, Delta, Piece as Told, Stop};
use hangar_protocol::{FinishReason, Piece};

/// An answer that is being heard.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// Decides what may be seen.
    pub(crate) answer: Answer,
    /// Whether thinking is sent.
    pub(crate) shows_reasoning: bool,
    /// Pieces of thinking so far; the worker sends one a token.
    pub(crate) reasoning_pieces: u32,
}

impl Hearing {
    /// What the next pieces tell.
    pub(crate) fn push(&mut self, pieces: &[Piece]) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for piece in pieces {
            let thought = self.answer.is_thinking();
            deltas.extend(self.answer.push(told(piece)));
            if thought || self.answer.is_thinking() {
                self.reasoning_pieces = self.reasoning_pieces.saturating_add(1);
            }
        }
        self.shown(deltas)
    }

    /// Ends the answer; what was held back is in the end's deltas.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> AnswerEnd {
        let stop = match reason {
            FinishReason::Stop | FinishReason::Cancelled => Stop::Ended,
            FinishReason::StopText => Stop::StopText,
            FinishReason::Length => Stop::Length,
        };
        let mut end = std::mem::take(&mut self.answer).finish(stop);
        end.deltas = self.shown(end.deltas);
        end
    }

    fn shown(&self, mut deltas: Vec<Delta>) -> Vec<Delta> {
        deltas.retain(|delta| match delta {
            Delta::Text(_) | Delta::Call(_) => true,
            Delta::Reasoning(_) => self.shows_reasoning,
        });
        deltas
    }
}

fn told(piece: &Piece) -> Told<'_> {
    match piece {
        Piece::Text { text } | Piece::Scored { text, .. } => Told::Text(text),
        Piece::Control { token } => Told::Control(token),
    }
}
