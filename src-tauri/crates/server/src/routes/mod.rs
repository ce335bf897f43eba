//! The routes other than chat.

pub(crate) mod admin;
pub(crate) mod chosen;
pub(crate) mod events;
pub(crate) mod metrics;
pub(crate) mod page;
pub(crate) mod receipts;
pub(crate) mod state;

use axum::extract::Request;

use crate::error::ApiError;

/// Every path of the API with the methods it has; the router is built from the same paths.
pub(crate) const PATHS: [(&str, &str); 15] = [
    (HEALTH, "GET, HEAD"),
    (READY, "GET, HEAD"),
    (MODELS, "GET, HEAD"),
    (STATS, "GET, HEAD"),
    (CHAT, "POST"),
    (TRANSCRIPTIONS, "POST"),
    (TRANSLATIONS, "POST"),
    (DRONES, "GET, HEAD, POST"),
    (UNLOAD, "POST"),
    (RESTART, "POST"),
    (START_SERVICE, "POST"),
    (STOP_SERVICE, "POST"),
    (EVENTS, "GET, HEAD"),
    (REQUESTS, "GET, HEAD"),
    (METRICS, "GET, HEAD"),
];

pub(crate) const HEALTH: &str = "/health";
pub(crate) const READY: &str = "/ready";
pub(crate) const MODELS: &str = "/v1/models";
pub(crate) const STATS: &str = "/admin/stats";
pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const TRANSCRIPTIONS: &str = "/v1/audio/transcriptions";
pub(crate) const TRANSLATIONS: &str = "/v1/audio/translations";
pub(crate) const DRONES: &str = "/v1/si-drones";
pub(crate) const UNLOAD: &str = "/admin/worker/unload";
pub(crate) const RESTART: &str = "/admin/worker/restart";
pub(crate) const START_SERVICE: &str = "/admin/service/start";
pub(crate) const STOP_SERVICE: &str = "/admin/service/stop";
pub(crate) const REQUESTS: &str = "/admin/requests";
pub(crate) const METRICS: &str = "/metrics";
pub(crate) const EVENTS: &str = "/admin/events";

/// Answers a path that is not there, or is there with another method.
pub(crate) async fn nothing_here(request: Request) -> ApiError {
    refusal(request.method().as_str(), request.uri().path())
}

fn refusal(method: &str, asked: &str) -> ApiError {
    // A profile's own admin routes have the same methods.
    let of_a_profile = asked.strip_prefix("/profiles/").and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    let asked_of_any = of_a_profile.filter(|path| path.starts_with("/admin/")).unwrap_or(asked);
    match PATHS.iter().find(|(path, _)| *path == asked_of_any) {
        Some((path, allowed)) => {
            ApiError::MethodNotFound { method: method.chars().take(20).collect(), path, allowed }
        }
        None => ApiError::PathNotFound { path: asked.chars().take(100).collect() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_method_is_told_the_right_one() {
        assert!(refusal("GET", CHAT).to_string().contains("POST"));
        assert!(refusal("GET", "/profiles/e2b/admin/worker/unload").to_string().contains("POST"));
        assert!(matches!(refusal("GET", "/profiles/e2b/health"), ApiError::PathNotFound { .. }));
        assert!(matches!(refusal("GET", "/v1/chat"), ApiError::PathNotFound { .. }));
    }
}
