//! `POST /v1/audio/transcriptions` and `/v1/audio/translations`: a form with sound in it, and what is said in it.

mod form;
mod wording;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hangar_config::Modality;
use hangar_gemma::{Gate, Message, Part, Role, ToolChoice};
use hangar_protocol::Sampling;
use serde_json::json;

use crate::app::App;
use crate::body;
use crate::chat::{self, Asked, ChatRequest, TokenLimit};
use crate::error::ApiError;
use crate::ident::RequestIdent;
use crate::media::Basket;
use crate::receipts::Draft;
use crate::routes::{TRANSCRIPTIONS, TRANSLATIONS};
use crate::served::{Roster, Served};
use form::{Form, Format};
use wording::Task;

/// Writes down what is said, in its own language.
pub(crate) async fn transcribe(
    State(app): State<App>,
    Extension(id): Extension<RequestIdent>,
    request: Request,
) -> Response {
    let draft = app.receipts.begin(&id, TRANSCRIPTIONS);
    answer(&app, request, draft, Task::Transcribe).await
}

/// Writes down in English what is said.
pub(crate) async fn translate(
    State(app): State<App>,
    Extension(id): Extension<RequestIdent>,
    request: Request,
) -> Response {
    let draft = app.receipts.begin(&id, TRANSLATIONS);
    answer(&app, request, draft, Task::Translate).await
}

async fn answer(app: &App, request: Request, mut draft: Draft, task: Task) -> Response {
    match write_down(app, request, &mut draft, task).await {
        Ok(mut response) => {
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => error.into_response(),
    }
}

async fn write_down(
    app: &App,
    request: Request,
    draft: &mut Draft,
    task: Task,
) -> Result<Response, ApiError> {
    let (form, mut talk) = match begin(app, request, draft, task).await {
        Ok(begun) => begun,
        Err(error) => {
            draft.refused(&error, None);
            return Err(error);
        }
    };
    let (said, ending) = talk.gather(draft).await?;
    let text = said.text().trim();
    Ok(match form.format {
        Format::Text => format!("{text}\n").into_response(),
        Format::Json => Json(json!({ "text": text, "usage": ending.usage.of_sound() })).into_response(),
        Format::VerboseJson => {
            let seconds = std::time::Duration::from_millis(talk.audio_ms()).as_secs_f64();
            Json(json!({
                "task": task.word(),
                "language": form.language.as_deref().unwrap_or("unknown"),
                "duration": seconds,
                "text": text,
                "segments": [],
                "usage": ending.usage.of_sound(),
            }))
            .into_response()
        }
    })
}

async fn begin(
    app: &App,
    request: Request,
    draft: &mut Draft,
    task: Task,
) -> Result<(Form, chat::Talk), ApiError> {
    drop(app.flights.begin()?);
    let boundary = form::boundary(request.headers())?;
    let as_429 = request.headers().get("x-hangar-overflow").is_some_and(|value| value.as_bytes() == b"429");
    let bytes = body::read(request, app.settings.server.max_body_bytes).await?;
    let flight = app.flights.begin()?;
    let mut form = form::read(bytes, &boundary).await?;
    let served = hearing(&app.roster, form.model.as_deref())?;
    let profile = served.profile();
    draft.asks(served.id(), &profile.model_id, false);
    let offer = served.offer();
    if !offer.takes(Modality::Audio) {
        let model = profile.model_id.clone();
        return Err(ApiError::UnsupportedModality { param: "file".to_owned(), modality: "audio", model });
    }
    let mut basket = Basket::new(&offer);
    let sound = std::mem::take(&mut form.file);
    let part = basket.add("file".to_owned(), &form.mime_type, sound, Modality::Audio)?;
    let wording = wording::prompt(task, profile, form.language.as_deref(), form.prompt.as_deref());
    let most = profile.max_output_tokens.min(profile.context_window_tokens.saturating_sub(1)).max(1);
    let wanted = ChatRequest {
        messages: vec![Message::new(Role::User, vec![Part::Text(wording), part])],
        media: basket.found,
        omitted_parts: 0,
        gate: Gate { tools: Vec::new(), choice: ToolChoice::None, one_call: false },
        thinking: Asked { thinks: false, shows: false },
        stream: false,
        include_usage: false,
        limit: TokenLimit::Default(most),
        sampling: Sampling { temperature: form.temperature, ..Sampling::default() },
    };
    let talk = chat::begin(app, served, wanted, flight, draft, as_429).await?;
    Ok((form, talk))
}

/// The model that is named, else the first one that hears.
fn hearing<'a>(roster: &'a Roster, name: Option<&str>) -> Result<&'a Served, ApiError> {
    match name {
        Some(name) => roster.find(Some(name)),
        None => {
            let hears = roster.iter().find(|served| served.offer().takes(Modality::Audio));
            Ok(hears.unwrap_or_else(|| roster.default()))
        }
    }
}
