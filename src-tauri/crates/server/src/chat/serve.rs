//! `POST /v1/chat/completions`: from body to a request that is admitted.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use hangar_gemma::{Answer, CallIds, Conversation, Gate, Opening, Rendered, Thinking, ToolChoice};
use hangar_protocol::{Group, Media, Prompt, Sampling, Segment, Thought};
use hangar_supervisor::Job;
use serde_json::Value;

use super::hearing::Hearing;
use super::request::{self, ChatRequest, TokenLimit};
use super::room::answer_tokens;
use super::talk::Talk;
use super::thinking::Asked;
use super::tools;
use super::wire::Intake;
use crate::app::App;
use crate::error::ApiError;
use crate::flight::Flight;
use crate::ident::{self, RequestIdent};
use crate::offer::Offer;
use crate::receipts::Draft;
use crate::routes::CHAT;
use crate::served::Served;
use crate::tokens::PromptSize;
use crate::{body, json};

/// Up to so many bytes a request is read without a thread of its own.
const READ_AT_ONCE_BYTES: usize = 1024 * 1024;

/// Answers one request, whole or as a stream; whatever becomes of it, its receipt is kept.
pub(crate) async fn complete(
    State(app): State<App>,
    Extension(id): Extension<RequestIdent>,
    request: Request,
) -> Response {
    let mut draft = app.receipts.begin(&id, CHAT);
    match admit(&app, request, &mut draft).await {
        Ok((wanted, talk)) if wanted.stream => talk.stream(draft, wanted.include_usage),
        Ok((_, talk)) => talk.whole(draft).await,
        Err(error) => {
            draft.refused(&error, None);
            error.into_response()
        }
    }
}

/// Everything that can be refused with a status: what was sent, for which model, its length, a full queue. What
/// takes longer than that, the wait for a turn, a load, reading the prompt, comes after.
async fn admit(app: &App, request: Request, draft: &mut Draft) -> Result<(Shape, Talk), ApiError> {
    drop(app.flights.begin()?);
    let as_429 = request.headers().get("x-hangar-overflow").is_some_and(|value| value.as_bytes() == b"429");
    let bytes = body::read(request, app.settings.server.max_body_bytes).await?;
    // Only now is there an answer to wait for: a body that never ends must not hold up the service's end.
    let flight = app.flights.begin()?;
    let value = json::parse(&bytes)?;
    let content_bytes = bytes.len();
    drop(bytes);
    let served = app.roster.find(request::model(&value)?)?;
    let profile = served.profile();
    draft.asks(served.id(), &profile.model_id, request::wants_stream(&value));
    let wanted = read(value, content_bytes, served.offer()).await?;
    let (stream, include_usage) = (wanted.stream, wanted.include_usage);
    let talk = begin(app, served, wanted, flight, draft, as_429).await?;
    Ok((Shape { stream, include_usage }, talk))
}

/// How an answer is to be sent.
struct Shape {
    stream: bool,
    include_usage: bool,
}

/// Decodes, renders, measures and queues a request that has been read.
///
/// # Errors
/// [`ApiError`] for all that can be told before there is an answer.
pub(crate) async fn begin(
    app: &App,
    served: &Served,
    mut wanted: ChatRequest,
    flight: Flight,
    draft: &mut Draft,
    as_429: bool,
) -> Result<Talk, ApiError> {
    let profile = served.profile();
    let bench = served.bench().map_err(|why| why.error(profile))?;
    let found = std::mem::take(&mut wanted.media);
    let decoded = app.decoder.decode(found, profile.modalities.max_audio_ms).await?;
    decoded.place(&mut wanted.messages);
    let intake = Intake {
        audio_tokens: decoded.audio_tokens,
        omitted_parts: wanted.omitted_parts,
        audio_ms: decoded.audio_ms,
    };
    let rendered = render(&wanted, bench.thinking_off)?;
    draft.spells(rendered.lookalikes);
    let opening = rendered.opening;
    let prompt = written(rendered, decoded.media);
    let (TokenLimit::Named(most) | TokenLimit::Default(most)) = wanted.limit;
    let window_tokens = profile.context_window_tokens;
    let (prompt, size) = bench.tokens.measure(prompt, window_tokens, most).await;
    let max_tokens = answer_tokens(wanted.limit, size, window_tokens)?;
    let mut sampling = wanted.sampling.clone();
    finish_sampling(&mut sampling, &wanted.gate, wanted.thinking, opening);
    let job = Job { prompt, sampling, max_tokens, base: None, keep: None };
    let reply = bench
        .worker
        .generate(job)
        .await
        .map_err(|error| overflow_as_asked(app.flights.told(&error, served.pace()), as_429))?;
    let prompt_tokens = match size {
        PromptSize::Exactly(tokens) => Some(tokens),
        PromptSize::AtMost(_) | PromptSize::AtLeast(_) | PromptSize::Unknown => None,
    };
    let answer = Answer::new(opening, wanted.gate.clone(), CallIds::new(&ident::random(24)));
    let hears = Hearing {
        answer,
        shows_reasoning: wanted.thinking.shows,
        scored: wanted.sampling.logprobs.is_some(),
        ..Hearing::default()
    };
    Ok(Talk::new(served.clone(), flight, reply, hears, intake, prompt_tokens, app.still_here_after))
}

/// Reads the request; a large one on a thread that may take its time over the base64 in it.
async fn read(value: Value, content_bytes: usize, offer: Offer) -> Result<ChatRequest, ApiError> {
    if content_bytes <= READ_AT_ONCE_BYTES {
        return request::read(&value, &offer);
    }
    let reading = tokio::task::spawn_blocking(move || request::read(&value, &offer));
    reading.await.map_err(|_| ApiError::Internal)?
}

fn render(wanted: &ChatRequest, thinking_off: Thinking) -> Result<Rendered, ApiError> {
    // A model that may not call anything is not told of tools.
    let tools = if wanted.gate.choice == ToolChoice::None { &[] } else { wanted.gate.tools.as_slice() };
    let thinking = if wanted.thinking.thinks { Thinking::On } else { thinking_off };
    hangar_gemma::render(&Conversation { messages: &wanted.messages, tools, thinking })
        .map_err(|error| ApiError::BadRequest { param: Some(error.field()), what: format!("{error}.") })
}

/// Adds what follows from the tools and from where the answer begins.
pub(crate) fn finish_sampling(sampling: &mut Sampling, gate: &Gate, thinking: Asked, opening: Opening) {
    sampling.thought = match opening {
        Opening::Thought => Thought::Open,
        Opening::Turn if thinking.thinks => Thought::Allowed,
        Opening::Turn => Thought::Off,
    };
    if let Some(grammar) = tools::grammar(gate) {
        sampling.grammar = Some(grammar);
    }
}

/// A rendered prompt as frames hold it.
pub(crate) fn written(rendered: Rendered, media: Vec<Media>) -> Prompt {
    let groups = rendered
        .groups
        .into_iter()
        .map(|group| Group { segments: group.segments.into_iter().map(segment).collect() });
    Prompt { groups: groups.collect(), media }
}

fn segment(segment: hangar_gemma::Segment) -> Segment {
    match segment {
        hangar_gemma::Segment::Text(text) => Segment::Text { text },
        hangar_gemma::Segment::Control(token) => Segment::Control { token: token.as_str().to_owned() },
        hangar_gemma::Segment::Image(media) => Segment::Image { media },
        hangar_gemma::Segment::Audio(media) => Segment::Audio { media },
    }
}

fn overflow_as_asked(error: ApiError, as_429: bool) -> ApiError {
    if let ApiError::QueueFull { depth, retry_after_s, .. } = error {
        return ApiError::QueueFull { depth, retry_after_s, as_429 };
    }
    if let (ApiError::WorkerBusy { retry_after_s }, true) = (&error, as_429) {
        return ApiError::QueueFull { depth: 0, retry_after_s: *retry_after_s, as_429 };
    }
    error
}
