//! Claims about reading that hold for any body; fuzzing makes bodies up, `corpus.rs` repeats those that were kept.

use std::sync::{Arc, OnceLock};

use hangar_config::Home;
use hangar_gemma::{Conversation, Thinking};
use hangar_protocol::{Grammar, Sampling};
use serde_json::Value;

use crate::chat::request::{self, ChatRequest, TokenLimit};
use crate::chat::tools;
use crate::error::ApiError;
use crate::json;
use crate::offer::{Offer, Towers};

/// A body is read or refused with a sentence and, where it is an object, the field; what is read is all that a
/// worker may be told, and renders.
pub fn requests(data: &[u8]) {
    let body = match json::parse(data) {
        Ok(body) => body,
        Err(error) => return check_refusal(&error, false),
    };
    if let Err(error) = request::model(&body) {
        return check_refusal(&error, body.is_object());
    }
    match request::read(&body, offer()) {
        Err(error) => check_refusal(&error, true),
        Ok(wanted) => {
            assert_eq!(wanted.stream, request::wants_stream(&body));
            check_request(&wanted);
        }
    }
}

fn offer() -> &'static Offer {
    static OFFER: OnceLock<Offer> = OnceLock::new();
    OFFER.get_or_init(|| {
        let folder = "/nowhere".to_owned();
        let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| folder.clone()));
        let settings = hangar_config::built_in(&home.expect("a folder is named"));
        let settings = settings.expect("the shipped configuration is right");
        let profile = Arc::new(settings.profiles.default_profile().clone());
        Offer::new(profile, Towers { image: true, audio: true })
    })
}

fn check_refusal(error: &ApiError, names_a_field: bool) {
    let param = if let ApiError::BadRequest { param, what } = error {
        assert!(what.ends_with('.'), "{what}");
        param.as_deref()
    } else if let ApiError::UnsupportedRequest { param, .. }
    | ApiError::UnsupportedModality { param, .. }
    | ApiError::Media { param, .. }
    | ApiError::UnsupportedMediaType { param, .. } = error
    {
        Some(param.as_str())
    } else {
        panic!("{error:?} is no refusal of what was sent")
    };
    assert!(param.is_some() || !names_a_field, "{error:?}");
    assert!(param.is_none_or(|param| !param.is_empty() && param.len() < 4096), "{error:?}");
}

fn check_request(wanted: &ChatRequest) {
    assert!(!wanted.messages.is_empty());
    let (TokenLimit::Named(most) | TokenLimit::Default(most)) = wanted.limit;
    assert!(most >= 1);
    check_sampling(&wanted.sampling);
    for thinking in [Thinking::Off, Thinking::On] {
        let tools = wanted.gate.tools.as_slice();
        match hangar_gemma::render(&Conversation { messages: &wanted.messages, tools, thinking }) {
            Ok(rendered) => assert!(rendered.groups.iter().any(|group| !group.segments.is_empty())),
            Err(error) => assert!(!error.field().is_empty()),
        }
    }
    let forced = tools::grammar(&wanted.gate);
    for grammar in forced.iter().chain(&wanted.sampling.grammar) {
        match grammar {
            Grammar::JsonObject => {}
            Grammar::JsonSchema { schema_json } => check_schema(schema_json),
            Grammar::ToolCalls { tools, .. } => {
                assert!(!tools.is_empty());
                tools.iter().for_each(|tool| check_schema(&tool.parameters_json));
            }
        }
    }
}

fn check_schema(written: &str) {
    assert!(serde_json::from_str::<Value>(written).is_ok_and(|schema| schema.is_object()));
}

/// The worker's own checks, and that nothing is lost on the way to it.
fn check_sampling(sampling: &Sampling) {
    assert!((0.0..f32::INFINITY).contains(&sampling.temperature));
    assert!((0.0..=1.0).contains(&sampling.top_p) && (0.0..=1.0).contains(&sampling.min_p));
    assert!(sampling.repetition_penalty > 0.0 && sampling.repetition_penalty.is_finite());
    assert!((-2.0..=2.0).contains(&sampling.presence_penalty));
    assert!((-2.0..=2.0).contains(&sampling.frequency_penalty));
    assert!(sampling.logprobs.is_none_or(|count| count <= 20));
    assert!(sampling.stop.len() <= 4);
    assert!(sampling.stop.iter().all(|stop| (1..=1000).contains(&stop.chars().count())));
    let sent = serde_json::to_string(sampling).expect("an order is JSON");
    assert_eq!(serde_json::from_str::<Sampling>(&sent).ok().as_ref(), Some(sampling));
}
