//! One turn: from what it brings to its answer, whole or as a stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use hangar_gemma::{Answer, CallIds, Delta, Finish, PastArguments, PastCall, Thinking, ToolCall};
use hangar_protocol::{FinishReason, Finished, WorkerFault};
use hangar_supervisor::{DispatchError, Job, RanOn, Reply, ReplyEvent, Start};
use tracing::{Instrument, Span};

use super::DroneError;
use super::answer::{Chunk, Completion, DeltaView, Ended, Metrics, Usage, call_view};
use super::drone::{Said, Turn};
use super::parts::{self, Brought};
use super::store::{Setup, Slot};
use crate::app::{App, unix_seconds};
use crate::chat::{self, Heard, Hearing, Still};
use crate::error::ApiError;
use crate::flight::Flight;
use crate::ident;
use crate::media::Clip;
use crate::receipts::Draft;
use crate::tokens::PromptSize;
use crate::views::{Memory, rounded_ms};

/// A turn that was admitted; dropping it cancels it and leaves its session as it was.
pub(crate) struct Running {
    /// Gone once the turn has ended.
    slot: Option<Slot>,
    session_id: String,
    turn_index: u32,
    setup: Arc<Setup>,
    flight: Flight,
    reply: Reply,
    hears: Hearing,
    said: Vec<Said>,
    clips: Vec<Clip>,
    audio_tokens: u32,
    omitted_parts: u32,
    start: Option<Start>,
    still: Still,
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
}

/// What comes next of a turn.
enum Step {
    News(Vec<Delta>),
    Ended(Box<Ended>),
    Broken(ApiError, Option<RanOn>),
}

/// Admits a turn: what it brings is rendered behind the session's state, has to fit, and waits its turn like any
/// request.
pub(crate) async fn admit(
    app: &App,
    slot: Slot,
    brought: Brought,
    max_tokens: Option<u32>,
    draft: &mut Draft,
) -> Result<Running, ApiError> {
    let flight = app.flights.begin()?;
    let setup = Arc::clone(&slot.begun.setup);
    let profile = setup.served.profile();
    let bench = setup.served.bench().map_err(|why| why.error(profile))?;
    let audio_limit_ms = slot.begun.policy.audio_limit_ms();
    let Brought { mut messages, said, media, omitted_parts } = brought;
    let decoded = app.decoder.decode(media, audio_limit_ms).await?;
    decoded.place(&mut messages);
    let thinking = if setup.thinking.thinks { Thinking::On } else { bench.thinking_off };
    let goes_on = slot.begun.base.is_some();
    let rendered = if goes_on {
        parts::more(&slot.begun.calls, &messages, thinking)?
    } else {
        parts::first(setup.system.as_deref(), &setup.gate, messages, thinking)?
    };
    draft.spells(rendered.lookalikes);
    let opening = rendered.opening;
    let held_tokens = slot.begun.held_tokens;
    let most_tokens = slot.begun.policy.max_context_tokens.min(profile.context_window_tokens);
    let room_tokens = most_tokens.saturating_sub(held_tokens);
    // Where the client names no limit there has to be room for a token at least.
    let asked_tokens = max_tokens.unwrap_or(1);
    let (prompt, size) =
        bench.tokens.measure(chat::written(rendered, decoded.media), room_tokens, asked_tokens).await;
    let prompt_tokens = match size {
        PromptSize::Exactly(tokens) | PromptSize::AtLeast(tokens) | PromptSize::AtMost(tokens) => tokens,
        PromptSize::Unknown => 0,
    };
    let exact_tokens = if let PromptSize::Exactly(tokens) = size { Some(tokens) } else { None };
    let wanted_tokens = prompt_tokens.saturating_add(u64::from(asked_tokens));
    if wanted_tokens > u64::from(room_tokens) {
        return Err(DroneError::ContextFull { held_tokens, wanted_tokens, most_tokens }.into());
    }
    let left = u64::from(room_tokens) - prompt_tokens.min(u64::from(room_tokens));
    let ours = u32::try_from(left).unwrap_or(u32::MAX).min(profile.max_output_tokens);
    let mut sampling = setup.sampling.clone();
    chat::finish_sampling(&mut sampling, &setup.gate, setup.thinking, opening);
    let (base, keep) = (slot.begun.base, Some(slot.keep));
    let job = Job { prompt, sampling, max_tokens: max_tokens.unwrap_or(ours), base, keep };
    let reply = bench.worker.generate(job).await;
    let reply = reply.map_err(|error| app.flights.told(&error, setup.served.pace()))?;
    let ids = CallIds::new(&ident::random(24));
    let answer = Answer::new(opening, setup.gate.clone(), ids);
    let hears = Hearing { answer, shows_reasoning: setup.thinking.shows, ..Hearing::default() };
    Ok(Running {
        session_id: slot.id().to_owned(),
        turn_index: slot.begun.turn_index,
        slot: Some(slot),
        setup,
        flight,
        reply,
        hears,
        said,
        clips: decoded.clips,
        audio_tokens: decoded.audio_tokens,
        omitted_parts,
        start: None,
        still: Still::new(exact_tokens),
        text: String::new(),
        reasoning: String::new(),
        calls: Vec::new(),
    })
}

impl Running {
    /// The whole answer.
    pub(crate) async fn whole(mut self, mut draft: Draft) -> Response {
        loop {
            match self.next(&mut draft).await {
                Step::News(_) => {}
                Step::Ended(ended) => {
                    let mut response = Json(&*ended).into_response();
                    let no_store = HeaderValue::from_static("no-store");
                    response.headers_mut().insert(header::CACHE_CONTROL, no_store);
                    return response;
                }
                Step::Broken(error, ran_on) => {
                    draft.refused(&error, ran_on);
                    return error.into_response();
                }
            }
        }
    }

    /// A stream that begins at once and ends with what the whole answer would have been.
    pub(crate) fn stream(self, draft: Draft, still_here_after: Duration) -> Response {
        let span = Span::current();
        let begin = event(&Chunk { delta: Some(DeltaView::default()), ..self.chunk() });
        let first = futures::stream::once(async move { begin });
        let rest = futures::stream::unfold(Some((self, draft)), move |state| {
            let next = async move {
                let (mut running, mut draft) = state?;
                let step = tokio::time::timeout(still_here_after, running.next(&mut draft)).await;
                let Ok(step) = step else {
                    let still = running.still.at(draft.elapsed_ms());
                    let event = event(&Chunk { still: Some(still), ..running.chunk() });
                    return Some((event, Some((running, draft))));
                };
                Some(match step {
                    Step::News(deltas) => {
                        let chunk = |delta| event(&Chunk { delta: Some(delta), ..running.chunk() });
                        let events = deltas.into_iter().map(DeltaView::of).map(chunk).collect();
                        (events, Some((running, draft)))
                    }
                    Step::Ended(ended) => {
                        let json = serde_json::to_string(&*ended).unwrap_or_default();
                        (chat::data(&json) + &chat::data("[DONE]"), None)
                    }
                    Step::Broken(error, ran_on) => {
                        draft.broke(&error, ran_on);
                        (chat::data(&error.stream_json()), None)
                    }
                })
            };
            next.instrument(span.clone())
        });
        let events = first.chain(rest).map(|event: String| Ok::<_, Infallible>(Bytes::from(event)));
        (chat::stream_headers(), Body::from_stream(events)).into_response()
    }

    fn chunk(&self) -> Chunk {
        let session_id = self.session_id.clone();
        Chunk {
            object: "si_drone.turn.chunk",
            session_id,
            turn_index: self.turn_index,
            delta: None,
            still: None,
        }
    }

    async fn next(&mut self, draft: &mut Draft) -> Step {
        loop {
            let Some(slot) = &self.slot else { return Step::Broken(ApiError::Internal, None) };
            let event = tokio::select! {
                event = self.reply.events.recv() => event,
                () = slot.deleted() => {
                    let gone = DroneError::NotFound { id: self.session_id.clone() };
                    return Step::Broken(gone.into(), None);
                }
            };
            match event {
                Some(ReplyEvent::Queued { position }) => self.still = self.still.queued(position),
                Some(ReplyEvent::Loading(_)) => self.still = self.still.loading(),
                Some(ReplyEvent::Progress(progress)) => self.still = self.still.reading(progress),
                Some(ReplyEvent::Accepted(start)) => {
                    draft.started(&start);
                    self.still = self.still.accepted(&start);
                    self.start = Some(start);
                }
                Some(ReplyEvent::Pieces(pieces)) => {
                    let heard = self.hears.push(&pieces);
                    let deltas = self.take(only_deltas(heard));
                    if !deltas.is_empty() {
                        draft.spoke();
                        return Step::News(deltas);
                    }
                }
                Some(ReplyEvent::Finished { finished, ran_on }) => {
                    draft.finished(&finished, ran_on);
                    return self.finished(draft, &finished, ran_on).await;
                }
                Some(ReplyEvent::Failed { error, ran_on }) => return self.broken(&error, ran_on),
                Some(ReplyEvent::Probed(_)) => {}
                None => return self.broken(&DispatchError::ShuttingDown, None),
            }
        }
    }

    fn take(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        for delta in &deltas {
            match delta {
                Delta::Text(text) => self.text.push_str(text),
                Delta::Reasoning(text) => self.reasoning.push_str(text),
                Delta::Call(call) => self.calls.push(call.clone()),
            }
        }
        deltas
    }

    async fn finished(&mut self, draft: &mut Draft, finished: &Finished, ran_on: RanOn) -> Step {
        let (held, end) = self.hears.finish(finished.reason);
        self.take(only_deltas(held));
        draft.withheld(&end.withheld);
        let (Some(slot), Some(start), Some(kept)) = (self.slot.take(), self.start, finished.kept) else {
            let error = if finished.reason == FinishReason::Cancelled {
                DispatchError::Cancelled
            } else {
                no_state()
            };
            return self.broken(&error, Some(ran_on));
        };
        let finish_reason = match end.finish {
            Finish::Stop => "stop",
            Finish::ToolCalls => "tool_calls",
            Finish::Length => "length",
        };
        let held_tokens = slot.begun.held_tokens;
        let turn_index = slot.begun.turn_index;
        let max_turns = slot.begun.policy.max_turns;
        let turn = Turn {
            state: slot.keep,
            kept,
            parts: std::mem::take(&mut self.said),
            text: self.text.clone(),
            calls: self.calls.iter().map(past).collect(),
            finish_reason,
            clips: self.clips.clone(),
            at: unix_seconds(),
        };
        let seen = match slot.answered(turn, ran_on.generation).await {
            Ok(seen) => seen,
            Err(gone) => return Step::Broken(gone.into(), Some(ran_on)),
        };
        draft.answered(finish_reason);
        self.setup.served.pace().took(finished.timings.prefill_ms + finished.timings.generation_ms);
        let prompt_tokens = finished.tokens.prompt_tokens.saturating_sub(held_tokens);
        let memory = Memory::of(finished.memory);
        tracing::info!(
            profile = self.setup.served.id(),
            turn_index,
            prompt_tokens,
            completion_tokens = finished.tokens.completion_tokens,
            context_tokens = kept.context_tokens,
            finish = finish_reason,
            "turn answered"
        );
        Step::Ended(Box::new(Ended {
            object: "si_drone.turn",
            session_id: self.session_id.clone(),
            turn_index,
            completion: Completion {
                text: std::mem::take(&mut self.text),
                reasoning: (!self.reasoning.is_empty()).then(|| std::mem::take(&mut self.reasoning)),
                tool_calls: self.calls.drain(..).map(call_view).collect(),
                finish_reason,
            },
            metrics: Metrics {
                turn_index,
                prompt_tokens_new: prompt_tokens,
                cached_tokens: finished.tokens.cached_tokens,
                audio_token_count: self.audio_tokens,
                audio_segments: std::mem::take(&mut self.clips),
                omitted_parts: self.omitted_parts,
                queue_wait_ms: rounded_ms(start.queue_wait_ms),
                load_ms: rounded_ms(start.load_ms),
                prefill_ms: rounded_ms(finished.timings.prefill_ms),
                generation_ms: rounded_ms(finished.timings.generation_ms),
                context_tokens_total: kept.context_tokens,
                peak_memory_gb: memory.peak_gb(),
                memory,
            },
            usage: Usage {
                prompt_tokens,
                completion_tokens: finished.tokens.completion_tokens,
                total_tokens: prompt_tokens.saturating_add(finished.tokens.completion_tokens),
            },
            elapsed_ms: rounded_ms(draft.elapsed_ms()),
            expires_at: seen.expires_at(),
            turns_left: max_turns.saturating_sub(turn_index),
            state_bytes: kept.bytes,
        }))
    }

    fn broken(&self, error: &DispatchError, ran_on: Option<RanOn>) -> Step {
        let error = self.flight.told(error, self.setup.served.pace());
        tracing::warn!(profile = self.setup.served.id(), code = error.code().word(), "a turn broke off");
        Step::Broken(error, ran_on)
    }
}

fn event(chunk: &Chunk) -> String {
    chat::data(&serde_json::to_string(chunk).unwrap_or_default())
}

fn only_deltas(heard: Vec<Heard>) -> Vec<Delta> {
    heard.into_iter().map(|heard| heard.delta).collect()
}

fn no_state() -> DispatchError {
    DispatchError::Fault(WorkerFault::Engine { what: "a turn without a state at its end".to_owned() })
}

fn past(call: &ToolCall) -> PastCall {
    PastCall {
        id: Some(call.id.clone()),
        name: call.name.clone(),
        arguments: PastArguments::read(&call.arguments),
    }
}
