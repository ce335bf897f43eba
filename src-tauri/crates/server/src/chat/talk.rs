//! An admitted request until its end: what the worker says becomes a whole answer or a stream of events.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hangar_gemma::{AnswerEnd, Delta};
use hangar_protocol::{Finished, WorkerFault};
use hangar_supervisor::{DispatchError, RanOn, Reply, ReplyEvent, Start};
use tracing::{Instrument, Span};

use super::hearing::{Heard, Hearing};
use super::wire::{self, Completion, Ending, Envelope, Gathered, News, Still};
use crate::app::unix_seconds;
use crate::error::ApiError;
use crate::flight::Flight;
use crate::ident;
use crate::receipts::Draft;
use crate::served::Served;

/// An admitted request; dropping it cancels it.
pub(crate) struct Talk {
    served: Served,
    envelope: Envelope,
    still_here_after: Duration,
    reply: Reply,
    hears: Hearing,
    /// What comes after what was held back until the end.
    next: Option<Turn>,
    start: Option<Start>,
    /// What was taken in besides text.
    intake: wire::Intake,
    /// How far it is, until there is text.
    still: Option<Still>,
    /// The service does not end before this does.
    flight: Flight,
}

/// The head of a stream of events.
pub(crate) fn stream_headers() -> [(header::HeaderName, &'static str); 4] {
    [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
        // A stream that breaks off has to end its connection, and its head is sent before that is known.
        (header::CONNECTION, "close"),
    ]
}

/// What the next event of the worker means for the client.
enum Turn {
    News(Vec<Heard>),
    End(Ending),
    Broken(ApiError, Option<RanOn>),
}

impl Talk {
    /// A request that has just been admitted; `prompt_tokens` where they were counted.
    pub(crate) fn new(
        served: Served,
        flight: Flight,
        reply: Reply,
        hears: Hearing,
        intake: wire::Intake,
        prompt_tokens: Option<u64>,
        still_here_after: Duration,
    ) -> Self {
        let envelope = Envelope {
            id: format!("chatcmpl-{}", ident::random(29)),
            created: unix_seconds(),
            model: served.profile().model_id.clone(),
            scored: hears.scored,
        };
        let still = Some(Still::new(prompt_tokens));
        Self {
            served,
            envelope,
            still_here_after,
            reply,
            hears,
            next: None,
            start: None,
            intake,
            still,
            flight,
        }
    }

    /// The whole answer, once it is there.
    pub(crate) async fn whole(mut self, mut draft: Draft) -> Response {
        match self.gather(&mut draft).await {
            Ok((gathered, ending)) => {
                let mut response = Json(Completion::new(&self.envelope, &gathered, &ending)).into_response();
                let no_store = HeaderValue::from_static("no-store");
                response.headers_mut().insert(header::CACHE_CONTROL, no_store);
                response
            }
            Err(error) => error.into_response(),
        }
    }

    /// All that the model says, and how it ended.
    ///
    /// # Errors
    /// [`ApiError`] when it broke off; the receipt knows.
    pub(crate) async fn gather(&mut self, draft: &mut Draft) -> Result<(Gathered, Ending), ApiError> {
        let mut gathered = Gathered::default();
        loop {
            match self.hear(draft).await {
                Turn::News(heard) => gathered.extend(heard),
                Turn::End(ending) => return Ok((gathered, ending)),
                Turn::Broken(error, ran_on) => {
                    draft.refused(&error, ran_on);
                    return Err(error);
                }
            }
        }
    }

    /// How long the sound lasts that is heard, in milliseconds.
    pub(crate) fn audio_ms(&self) -> u64 {
        self.intake.audio_ms
    }

    /// A stream that begins at once: who speaks, then signs of life until there is text.
    pub(crate) fn stream(self, draft: Draft, include_usage: bool) -> Response {
        // The body is written after the request's own span has been left.
        let span = Span::current();
        let events = futures::stream::unfold(Some((self, draft, true)), move |state| {
            let next = async move {
                let (mut talk, mut draft, is_first) = state?;
                if is_first {
                    let event = wire::event(&talk.envelope, News::Role, include_usage);
                    return Some((event, Some((talk, draft, false))));
                }
                let (event, goes_on) = talk.next_event(&mut draft, include_usage).await;
                Some((event, goes_on.then_some((talk, draft, false))))
            };
            next.instrument(span.clone())
        });
        let events = futures::StreamExt::map(events, |event| Ok::<_, Infallible>(Bytes::from(event)));
        (stream_headers(), Body::from_stream(events)).into_response()
    }

    /// The next event to send, and whether more follow.
    async fn next_event(&mut self, draft: &mut Draft, include_usage: bool) -> (String, bool) {
        let Ok(heard) = tokio::time::timeout(self.still_here_after, self.hear(draft)).await else {
            let still = self.still.map(|still| still.at(draft.elapsed_ms()));
            return (wire::event(&self.envelope, News::StillHere(still), include_usage), true);
        };
        match heard {
            Turn::News(heard) => {
                let events = heard.iter().map(|heard| self.events(heard, include_usage));
                (events.collect(), true)
            }
            Turn::End(ending) => {
                let mut last = wire::event(&self.envelope, News::Finish(&ending), include_usage);
                if include_usage {
                    last.push_str(&wire::usage_event(&self.envelope, &ending));
                }
                last.push_str(&wire::data("[DONE]"));
                (last, false)
            }
            Turn::Broken(error, ran_on) => {
                draft.broke(&error, ran_on);
                (wire::data(&error.stream_json()), false)
            }
        }
    }

    fn events(&self, heard: &Heard, include_usage: bool) -> String {
        let event = |news| wire::event(&self.envelope, news, include_usage);
        match &heard.delta {
            Delta::Text(text) => event(News::Text(text, &heard.scores)),
            Delta::Reasoning(text) => event(News::Reasoning(text)),
            // Clients take a call's name and its arguments from events of their own.
            Delta::Call(call) => event(News::Call(call)) + &event(News::Arguments(call)),
        }
    }

    /// Waits for something a client gets to see. Cancel-safe: nothing is taken from the worker and lost.
    async fn hear(&mut self, draft: &mut Draft) -> Turn {
        if let Some(turn) = self.next.take() {
            return turn;
        }
        loop {
            match self.reply.events.recv().await {
                Some(ReplyEvent::Queued { position }) => self.follow(|still| still.queued(position)),
                Some(ReplyEvent::Loading(_)) => self.follow(Still::loading),
                Some(ReplyEvent::Progress(progress)) => self.follow(|still| still.reading(progress)),
                Some(ReplyEvent::Accepted(start)) => {
                    draft.started(&start);
                    self.follow(|still| still.accepted(&start));
                    self.start = Some(start);
                }
                Some(ReplyEvent::Pieces(pieces)) => {
                    let heard = self.hears.push(&pieces);
                    if !heard.is_empty() {
                        draft.spoke();
                        self.still = None;
                        return Turn::News(heard);
                    }
                }
                Some(ReplyEvent::Finished { finished, ran_on }) => {
                    let (held, answer) = self.hears.finish(finished.reason);
                    let end = self.ended(draft, &finished, &answer, ran_on);
                    if held.is_empty() {
                        return end;
                    }
                    self.next = Some(end);
                    return Turn::News(held);
                }
                Some(ReplyEvent::Failed { error, ran_on }) => return self.broken(&error, ran_on),
                Some(ReplyEvent::Probed(_)) => {}
                None => return self.broken(&DispatchError::ShuttingDown, None),
            }
        }
    }

    fn follow(&mut self, next: impl FnOnce(Still) -> Still) {
        self.still = self.still.map(next);
    }

    fn ended(&self, draft: &mut Draft, finished: &Finished, answer: &AnswerEnd, ran_on: RanOn) -> Turn {
        draft.finished(finished, ran_on);
        draft.withheld(&answer.withheld);
        let Some(start) = self.start else {
            let what = "an answer without a beginning".to_owned();
            return self.broken(&DispatchError::Fault(WorkerFault::Engine { what }), Some(ran_on));
        };
        let total_ms = draft.elapsed_ms();
        let thought = self.hears.reasoning_tokens;
        let Some(ending) = Ending::new(start, finished, answer.finish, self.intake, thought, total_ms) else {
            return self.broken(&DispatchError::Cancelled, Some(ran_on));
        };
        draft.answered(ending.finish_reason);
        self.served.pace().took(finished.timings.prefill_ms + finished.timings.generation_ms);
        let (prompt_tokens, completion_tokens) = ending.counts();
        let profile = self.served.id();
        tracing::info!(
            profile,
            prompt_tokens,
            completion_tokens,
            finish = ending.finish_reason,
            total_ms = total_ms.round(),
            "answered"
        );
        Turn::End(ending)
    }

    fn broken(&self, error: &DispatchError, ran_on: Option<RanOn>) -> Turn {
        let error = self.flight.told(error, self.served.pace());
        tracing::warn!(profile = self.served.id(), code = error.code().word(), "an answer broke off");
        Turn::Broken(error, ran_on)
    }
}
