//! Reading a request body up to the server's limit.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::header;
use futures::StreamExt;

use crate::error::ApiError;

/// How long a client that sends too much is listened to, so that it reads the refusal instead of an abort.
const DISCARD_FOR: Duration = Duration::from_secs(2);

/// How much of it is listened to; none of it is kept.
const DISCARD_BYTES: usize = 512 * 1024 * 1024;

/// Longest silence in the middle of a body.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// Reads the whole body of a request; one that says itself that it is too long is not read at all.
///
/// # Errors
/// [`ApiError::PayloadTooLarge`] over the limit, [`ApiError::BadRequest`] when it breaks off or stops coming.
pub(crate) async fn read(request: Request, limit_bytes: usize) -> Result<Vec<u8>, ApiError> {
    if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
        && coding.as_bytes() != b"identity"
    {
        let what = "Content-Encoding is not taken here: send the body uncompressed.".to_owned();
        return Err(ApiError::BadRequest { param: Some("Content-Encoding".to_owned()), what });
    }
    let waits_for_leave = request.headers().contains_key(header::EXPECT);
    let body = request.into_body();
    let is_too_long = usize::try_from(body.size_hint().lower()).is_ok_and(|length| length > limit_bytes);
    let mut chunks = body.into_data_stream();
    if is_too_long {
        // Asking for its first byte would be the leave.
        if !waits_for_leave {
            discard(chunks).await;
        }
        return Err(ApiError::PayloadTooLarge { limit_bytes });
    }
    let mut whole = Vec::new();
    loop {
        let next =
            tokio::time::timeout(SILENCE_LIMIT, chunks.next()).await.map_err(|_| ApiError::BadRequest {
                param: None,
                what: format!("The body stopped coming for {} s. Send it again.", SILENCE_LIMIT.as_secs()),
            })?;
        let Some(chunk) = next else { return Ok(whole) };
        let chunk = chunk.map_err(|_| ApiError::BadRequest {
            param: None,
            what: "The body broke off before its end. Send it again.".to_owned(),
        })?;
        if chunk.len() > limit_bytes.saturating_sub(whole.len()) {
            drop(whole);
            discard(chunks).await;
            return Err(ApiError::PayloadTooLarge { limit_bytes });
        }
        whole.extend_from_slice(&chunk);
    }
}

/// Takes what comes without keeping it.
async fn discard(mut chunks: axum::body::BodyDataStream) {
    let mut left = DISCARD_BYTES;
    let reading = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Either way the refusal follows.
    drop(tokio::time::timeout(DISCARD_FOR, reading).await);
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[tokio::test]
    async fn a_body_at_the_limit_is_read_and_one_byte_more_is_refused() {
        assert_eq!(read(Request::new(Body::from("12345")), 5).await.unwrap(), b"12345");
        let refusal = read(Request::new(Body::from("123456")), 5).await.unwrap_err();
        assert_eq!(refusal, ApiError::PayloadTooLarge { limit_bytes: 5 });
    }

    #[tokio::test]
    async fn the_limit_counts_over_chunks_of_unknown_total() {
        let chunks = ["123", "45", "6"].map(|chunk| Ok::<_, std::io::Error>(chunk.as_bytes().to_vec()));
        let refusal =
            read(Request::new(Body::from_stream(futures::stream::iter(chunks))), 5).await.unwrap_err();
        assert_eq!(refusal, ApiError::PayloadTooLarge { limit_bytes: 5 });
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_coming_is_given_up() {
        let first = futures::stream::iter([Ok::<_, std::io::Error>(b"12".to_vec())]);
        let body = Body::from_stream(first.chain(futures::stream::pending()));
        let refusal = read(Request::new(body), 5).await.unwrap_err();
        assert!(refusal.to_string().contains("30 s"), "{refusal}");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_bad_request() {
        let chunks = [Ok(b"12".to_vec()), Err(std::io::Error::other("gone"))];
        let refusal =
            read(Request::new(Body::from_stream(futures::stream::iter(chunks))), 5).await.unwrap_err();
        assert!(matches!(refusal, ApiError::BadRequest { .. }));
    }
}
