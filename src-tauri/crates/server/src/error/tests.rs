//! The whole table of codes, statuses and bodies.

use super::*;

fn one_of_each() -> Vec<ApiError> {
    vec![
        ApiError::BadRequest {
            param: Some("temperature".into()),
            what: "temperature: expected a number".into(),
        },
        ApiError::UnsupportedRequest { param: "stop".into(), cure: "leave it out".into() },
        ApiError::ContextLengthExceeded { prompt_tokens: 70, answer_tokens: Some(30), window_tokens: 64 },
        ApiError::ContextLengthExceeded { prompt_tokens: 70, answer_tokens: None, window_tokens: 64 },
        ApiError::Forbidden(Refusal::CrossSite),
        ApiError::ModelNotFound { asked: "gpt".into(), known: "gemma-4-pocket".into() },
        ApiError::ReceiptNotFound { id: "abc".into() },
        ApiError::UnsupportedBackend { model: "big".into(), backend: "mlx_vlm_diffusion_gemma" },
        ApiError::PathNotFound { path: "/v2".into() },
        ApiError::MethodNotFound { method: "PUT".into(), path: "/health", allowed: "GET, HEAD" },
        ApiError::WorkerBusy { retry_after_s: 0 },
        ApiError::UnloadRefused { retry_after_s: 3 },
        ApiError::QueueFull { depth: 4, retry_after_s: 500, as_429: false },
        ApiError::QueueFull { depth: 4, retry_after_s: 9, as_429: true },
        ApiError::PayloadTooLarge { limit_bytes: 1024 },
        ApiError::UnsupportedModality {
            param: "messages[0].content[1]".into(),
            modality: "image",
            model: "gemma-4-pocket".into(),
        },
        ApiError::Media {
            param: "messages[0].content[1].image_url.url".into(),
            error: MediaError::ImageTooLarge { width: 20_000, height: 20_000, limit_pixels: 50_000_000 },
        },
        ApiError::Media {
            param: "messages[0].content[1].input_audio.data".into(),
            error: MediaError::AudioTooLong { found_ms: 900_000, limit_ms: 600_000 },
        },
        ApiError::Media { param: "file".into(), error: MediaError::NotInline },
        ApiError::Media { param: "file".into(), error: MediaError::AudioUnknown },
        ApiError::UnsupportedMediaType {
            param: "file".into(),
            found: "image/gif".into(),
            allowed: "image/png, image/jpeg".into(),
        },
        ApiError::Internal,
        ApiError::WorkerFailed { what: "model file a is missing".into(), cure: "Restart it".into() },
        ApiError::WorkerCrashed { what: "signal 9".into() },
        ApiError::WorkerStalled { what: "no progress for 30000 ms".into() },
        ApiError::WorkerNotReady { what: "3 failures in a row".into(), retry_after_s: 15 },
        ApiError::ShuttingDown,
        ApiError::Stopped,
        ApiError::RuntimeUnverified { what: "mlx is 0.1".into(), cure: "Run hangar runtime repair".into() },
        ApiError::Timeout { what: "The answer", limit_ms: 10, cure: "Ask for fewer tokens" },
    ]
}

#[tokio::test]
async fn every_error_is_served_in_the_shape_clients_know() {
    let mut served = String::new();
    for error in one_of_each() {
        let response = error.into_response();
        let head = format!(
            "{} retry-after={:?} allow={:?}",
            response.status().as_u16(),
            response.headers().get(header::RETRY_AFTER),
            response.headers().get(header::ALLOW),
        );
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        served.push_str(&format!("{head}\n{}\n", String::from_utf8(body.to_vec()).unwrap()));
    }
    insta::assert_snapshot!(served);
}

#[test]
fn an_error_inside_a_stream_is_a_server_error_with_our_code() {
    let error = ApiError::WorkerCrashed { what: "signal 9".into() };
    insta::assert_snapshot!(error.stream_json());
}

#[test]
fn retry_after_stays_between_one_and_two_minutes() {
    assert_eq!(ApiError::WorkerBusy { retry_after_s: 0 }.retry_after_s(), Some(1));
    let full = ApiError::QueueFull { depth: 1, retry_after_s: 9000, as_429: false };
    assert_eq!(full.retry_after_s(), Some(120));
}
