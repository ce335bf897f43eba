//! What of a worker's pieces a client gets to know.

use hangar_gemma::{Answer, AnswerEnd, Delta, Piece as Told, Stop};
use hangar_protocol::{FinishReason, Piece, Pieces, ScoredToken};

/// An answer that is being heard.
#[derive(Debug, Default)]
pub(crate) struct Hearing {
    /// Decides what may be seen.
    pub(crate) answer: Answer,
    /// Whether thinking is sent.
    pub(crate) shows_reasoning: bool,
    /// Whether log-probabilities were asked for.
    pub(crate) scored: bool,
    /// Tokens of thinking so far.
    pub(crate) reasoning_tokens: u32,
    /// Tokens generated so far.
    pub(crate) made_tokens: u32,
    /// Scored tokens of the answer's text that has not been told yet.
    pub(crate) waiting: Vec<ScoredToken>,
}

/// What a client gets to know next, with the scores of the text's tokens where they were asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// The news.
    pub(crate) delta: Delta,
    /// In order; a token may begin in this text and end in the next, or stand in text that is held back.
    pub(crate) scores: Vec<ScoredToken>,
}

impl Hearing {
    /// What the next pieces tell.
    pub(crate) fn push(&mut self, pieces: &Pieces) -> Vec<Heard> {
        let mut heard = Vec::new();
        let mut is_thought = self.answer.is_thinking();
        for piece in &pieces.pieces {
            let answered = self.answer.is_answering();
            let deltas = self.answer.push(told(piece));
            if let Piece::Scored { tokens, .. } = piece
                && (answered || self.answer.is_answering())
            {
                self.waiting.extend_from_slice(tokens);
            }
            is_thought |= self.answer.is_thinking();
            heard.extend(self.shown(deltas));
        }
        if is_thought {
            let tokens = pieces.made_tokens.saturating_sub(self.made_tokens);
            self.reasoning_tokens = self.reasoning_tokens.saturating_add(tokens);
        }
        self.made_tokens = pieces.made_tokens;
        heard
    }

    /// Ends the answer, and tells what was held back.
    pub(crate) fn finish(&mut self, reason: FinishReason) -> (Vec<Heard>, AnswerEnd) {
        let stop = match reason {
            FinishReason::Stop | FinishReason::Cancelled => Stop::Ended,
            FinishReason::StopText => Stop::StopText,
            FinishReason::Length => Stop::Length,
        };
        let mut end = std::mem::take(&mut self.answer).finish(stop);
        let deltas = std::mem::take(&mut end.deltas);
        (self.shown(deltas), end)
    }

    fn shown(&mut self, mut deltas: Vec<Delta>) -> Vec<Heard> {
        deltas.retain(|delta| match delta {
            Delta::Text(_) | Delta::Call(_) => true,
            Delta::Reasoning(_) => self.shows_reasoning,
        });
        let heard = |delta: Delta| {
            let is_text = matches!(delta, Delta::Text(_));
            let scores = if is_text { std::mem::take(&mut self.waiting) } else { Vec::new() };
            Heard { delta, scores }
        };
        deltas.into_iter().map(heard).collect()
    }
}

fn told(piece: &Piece) -> Told<'_> {
    match piece {
        Piece::Text { text } | Piece::Scored { text, .. } => Told::Text(text),
        Piece::Control { token } => Told::Control(token),
    }
}

#[cfg(test)]
mod tests {
    use hangar_protocol::RequestId;

    use super::*;

    fn scored(text: &str) -> Piece {
        let token = ScoredToken { bytes: text.as_bytes().to_vec(), logprob: -1.0, top: Vec::new() };
        Piece::Scored { text: text.into(), tokens: vec![token] }
    }

    fn frame(pieces: &[Piece], made_tokens: u32) -> Pieces {
        Pieces { request: RequestId(1), made_tokens, pieces: pieces.to_vec() }
    }

    #[test]
    fn thinking_is_counted_in_tokens_also_where_a_piece_is_of_several() {
        let text = |text: &str| Piece::Text { text: text.into() };
        let mut hears = Hearing::default();
        for (piece, made_tokens) in [
            (control("<|channel>"), 1),
            (text("thought\n"), 3),
            (text("\u{1f9ea}"), 7),
            (control("<channel|>"), 8),
            (text("Hi"), 9),
            (text("\u{1f9ea}"), 13),
        ] {
            hears.push(&frame(&[piece], made_tokens));
        }
        assert_eq!((hears.reasoning_tokens, hears.made_tokens), (8, 13));
    }

    fn control(token: &str) -> Piece {
        Piece::Control { token: token.into() }
    }

    /// Text with the bytes of the tokens told beside it.
    fn told(heard: Vec<Heard>) -> Vec<(Delta, Vec<u8>)> {
        let bytes = |scores: Vec<ScoredToken>| scores.into_iter().flat_map(|token| token.bytes).collect();
        heard.into_iter().map(|heard| (heard.delta, bytes(heard.scores))).collect()
    }

    #[test]
    fn scores_come_with_the_answers_text_and_never_with_a_thought_or_a_call() {
        let mut hears = Hearing { shows_reasoning: true, scored: true, ..Hearing::default() };
        let pieces = [
            control("<|channel>"),
            scored("thought\n"),
            scored("hm"),
            control("<channel|>"),
            scored("Hi"),
            control("<|tool_call>"),
            scored("call:f{}"),
            control("<tool_call|>"),
            scored(" you"),
        ];
        let heard = told(hears.push(&frame(&pieces, 9)));
        let texts: Vec<_> = heard.iter().filter(|(delta, _)| matches!(delta, Delta::Text(_))).collect();
        assert_eq!(texts.first().map(|(_, bytes)| bytes.as_slice()), Some(b"Hi".as_slice()));
        assert_eq!(texts.last().map(|(_, bytes)| bytes.as_slice()), Some(b" you".as_slice()));
        assert!(heard.contains(&(Delta::Reasoning("hm".into()), Vec::new())));
    }

    #[test]
    fn scores_of_text_that_is_held_back_come_once() {
        let mut hears = Hearing { scored: true, ..Hearing::default() };
        let mut heard = hears.push(&frame(&[scored("a <|"), scored("tool_ca"), scored("b")], 3));
        heard.extend(hears.finish(FinishReason::Stop).0);
        let all: Vec<u8> = told(heard).into_iter().flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(all, b"a <|tool_cab");
    }
}
