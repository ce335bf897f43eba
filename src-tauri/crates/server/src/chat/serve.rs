//! `POST /v1/chat/completions`: from body to answer.

use std::convert::Infallible;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hangar_gemma::{Answer, Conversation, Delta, Piece as Told, Stop, Thinking};
use hangar_protocol::{FinishReason, Finished, Group, Piece, Prompt, Segment, WorkerFault};
use hangar_supervisor::{DispatchError, Job, Reply, ReplyEvent, Start};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::request::{self, ChatRequest, TokenLimit};
use super::wire::{self, Completion, Ending, Envelope, News};
use crate::app::{App, unix_seconds};
use crate::error::{ApiError, from_dispatch};
use crate::flight::Flight;
use crate::{body, ident, json};

/// Answers one request, whole or as a stream.
pub(crate) async fn complete(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let arrived = Instant::now();
    drop(app.flights.begin()?);
    let (parts, content) = request.into_parts();
    let bytes = body::read(content, app.settings.server.max_body_bytes).await?;
    // Only now is there an answer to wait for: a body that never ends must not hold up the service's end.
    let flight = app.flights.begin()?;
    let wanted = request::read(&json::parse(&bytes)?, app.settings.profiles.default_profile())?;
    drop(bytes);
    let prompt = render(&wanted)?;
    let (start, reply) = begin(&app, &wanted, prompt)
        .await
        .map_err(|error| overflow_as_asked(from_dispatch(&error, &app.flights), &parts.headers))?;
    let envelope = Envelope {
        id: format!("chatcmpl-{}", ident::random(29)),
        created: unix_seconds(),
        model: app.settings.profiles.default_profile().model_id.clone(),
    };
    let talk = Talk { app, arrived, start, reply, answer: Answer::default(), next: None, flight, envelope };
    if wanted.stream { Ok(talk.stream(wanted.include_usage)) } else { talk.whole().await }
}

/// Hands the prompt to the worker and waits until it is accepted, so that a refusal still has a status.
async fn begin(app: &App, wanted: &ChatRequest, prompt: Prompt) -> Result<(Start, Reply), DispatchError> {
    let (max_tokens, is_ours) = match wanted.limit {
        TokenLimit::Named(tokens) => (tokens, false),
        TokenLimit::Default(tokens) => (tokens, true),
    };
    let job = |prompt, max_tokens| Job { prompt, sampling: wanted.sampling.clone(), max_tokens };
    let first = accepted(app.worker.generate(job(prompt.clone(), max_tokens)).await?).await;
    match first {
        // Nobody asked for that many tokens: ask for what the prompt leaves.
        Err(DispatchError::Fault(WorkerFault::ContextLengthExceeded {
            prompt_tokens,
            window_tokens,
            ..
        })) if is_ours && prompt_tokens < window_tokens => {
            let fits = job(prompt, window_tokens - prompt_tokens);
            accepted(app.worker.generate(fits).await?).await
        }
        Ok(_) | Err(_) => first,
    }
}

async fn accepted(mut reply: Reply) -> Result<(Start, Reply), DispatchError> {
    loop {
        match reply.events.recv().await {
            Some(ReplyEvent::Queued { .. } | ReplyEvent::Loading(_) | ReplyEvent::Progress(_)) => {}
            Some(ReplyEvent::Accepted(start)) => return Ok((start, reply)),
            Some(ReplyEvent::Failed { error, .. }) => return Err(error),
            Some(ReplyEvent::Pieces(_) | ReplyEvent::Finished { .. } | ReplyEvent::Probed(_)) => {
                return Err(DispatchError::Fault(WorkerFault::Engine {
                    what: "an answer without a beginning".to_owned(),
                }));
            }
            None => return Err(DispatchError::ShuttingDown),
        }
    }
}

fn render(wanted: &ChatRequest) -> Result<Prompt, ApiError> {
    let conversation = Conversation { messages: &wanted.messages, tools: &[], thinking: Thinking::Off };
    let rendered = hangar_gemma::render(&conversation)
        .map_err(|error| ApiError::BadRequest { param: Some(error.field()), what: format!("{error}.") })?;
    let groups = rendered
        .groups
        .into_iter()
        .map(|group| Group { segments: group.segments.into_iter().map(segment).collect() });
    Ok(Prompt { groups: groups.collect(), media: Vec::new() })
}

fn segment(segment: hangar_gemma::Segment) -> Segment {
    match segment {
        hangar_gemma::Segment::Text(text) => Segment::Text { text },
        hangar_gemma::Segment::Control(token) => Segment::Control { token: token.as_str().to_owned() },
        hangar_gemma::Segment::Image(media) => Segment::Image { media },
        hangar_gemma::Segment::Audio(media) => Segment::Audio { media },
    }
}

fn overflow_as_asked(mut error: ApiError, headers: &HeaderMap) -> ApiError {
    if let ApiError::QueueFull { as_429, .. } = &mut error {
        *as_429 = headers.get("x-hangar-overflow").is_some_and(|value| value.as_bytes() == b"429");
    }
    error
}

/// An accepted answer on its way; dropping it cancels the request.
struct Talk {
    app: App,
    arrived: Instant,
    start: Start,
    reply: Reply,
    answer: Answer,
    /// What comes after the text that was held back until the end.
    next: Option<Turn>,
    flight: Flight,
    envelope: Envelope,
}

/// What the next event of the worker means for the client.
enum Turn {
    Text(String),
    End(Ending),
    Broken(ApiError),
}

impl Talk {
    async fn whole(mut self) -> Result<Response, ApiError> {
        let mut content = String::new();
        loop {
            match self.hear().await {
                Turn::Text(text) => content.push_str(&text),
                Turn::End(ending) => {
                    let mut response =
                        Json(Completion::new(&self.envelope, &content, &ending)).into_response();
                    response
                        .headers_mut()
                        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                    return Ok(response);
                }
                Turn::Broken(error) => return Err(error),
            }
        }
    }

    fn stream(self, include_usage: bool) -> Response {
        // The body is written after the request's own span has been left.
        let span = Span::current();
        let events = futures::stream::unfold(Some((self, true)), move |state| {
            let next = async move {
                let (mut talk, is_first) = state?;
                if is_first {
                    let event = wire::event(&talk.envelope, News::Role, include_usage);
                    return Some((event, Some((talk, false))));
                }
                let (event, goes_on) = talk.next_event(include_usage).await;
                Some((event, goes_on.then_some((talk, false))))
            };
            next.instrument(span.clone())
        });
        let events = futures::StreamExt::map(events, |event| Ok::<_, Infallible>(Bytes::from(event)));
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-store"),
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
            // A stream that breaks off has to end its connection, and its head is sent before that is known.
            (header::CONNECTION, "close"),
        ];
        (headers, Body::from_stream(events)).into_response()
    }

    /// The next event to send, and whether more follow.
    async fn next_event(&mut self, include_usage: bool) -> (String, bool) {
        let heard = match tokio::time::timeout(self.app.still_here_after, self.hear()).await {
            Ok(heard) => heard,
            Err(_) => return (wire::event(&self.envelope, News::StillHere, include_usage), true),
        };
        match heard {
            Turn::Text(text) => (wire::event(&self.envelope, News::Text(&text), include_usage), true),
            Turn::End(ending) => {
                let mut last = wire::event(&self.envelope, News::Finish(ending.finish_reason), include_usage);
                if include_usage {
                    last.push_str(&wire::usage_event(&self.envelope, &ending));
                }
                last.push_str(&wire::data("[DONE]"));
                (last, false)
            }
            Turn::Broken(error) => (wire::data(&error.stream_json()), false),
        }
    }

    /// Waits for something a client gets to see. Cancel-safe: nothing is taken from the worker and lost.
    async fn hear(&mut self) -> Turn {
        if let Some(turn) = self.next.take() {
            return turn;
        }
        loop {
            match self.reply.events.recv().await {
                Some(ReplyEvent::Pieces(pieces)) => {
                    let deltas = pieces.iter().flat_map(|piece| self.answer.push(heard(piece)));
                    let text: String = deltas.filter_map(Delta::into_text).collect();
                    if !text.is_empty() {
                        return Turn::Text(text);
                    }
                }
                Some(ReplyEvent::Finished { finished, .. }) => {
                    let end = self.ended(&finished);
                    let stop = match finished.reason {
                        FinishReason::Stop | FinishReason::Cancelled => Stop::Ended,
                        FinishReason::StopText => Stop::StopText,
                        FinishReason::Length => Stop::Length,
                    };
                    let held = std::mem::take(&mut self.answer).finish(stop).deltas;
                    let text: String = held.into_iter().filter_map(Delta::into_text).collect();
                    if text.is_empty() {
                        return end;
                    }
                    self.next = Some(end);
                    return Turn::Text(text);
                }
                Some(ReplyEvent::Failed { error, .. }) => return self.broken(&error),
                Some(
                    ReplyEvent::Queued { .. }
                    | ReplyEvent::Loading(_)
                    | ReplyEvent::Progress(_)
                    | ReplyEvent::Accepted(_)
                    | ReplyEvent::Probed(_),
                ) => {}
                None => return self.broken(&DispatchError::ShuttingDown),
            }
        }
    }

    fn ended(&self, finished: &Finished) -> Turn {
        let total_ms = self.arrived.elapsed().as_secs_f64() * 1000.0;
        let Some(ending) = Ending::new(self.start, finished, total_ms) else {
            return self.broken(&DispatchError::Cancelled);
        };
        self.flight.took(finished.timings.prefill_ms + finished.timings.generation_ms);
        let (prompt_tokens, completion_tokens) = ending.counts();
        let answer = &self.envelope.id;
        tracing::info!(%answer, prompt_tokens, completion_tokens, finish = ending.finish_reason, total_ms = total_ms.round(), "answered");
        Turn::End(ending)
    }

    fn broken(&self, error: &DispatchError) -> Turn {
        let error = from_dispatch(error, &self.app.flights);
        tracing::warn!(answer = %self.envelope.id, code = error.code().word(), "an answer broke off");
        Turn::Broken(error)
    }
}

fn heard(piece: &Piece) -> Told<'_> {
    match piece {
        Piece::Text { text } | Piece::Scored { text, .. } => Told::Text(text),
        Piece::Control { token } => Told::Control(token),
    }
}
