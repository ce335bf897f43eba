//! The id of a request, and connections that ask for nothing.

use serde_json::json;

use crate::client::request;
use crate::rig::{CHAT, Rig, chat};

#[tokio::test]
async fn every_answer_carries_the_clients_own_id_or_a_new_one() {
    let rig = Rig::new(json!([{}])).await;
    let id = "x-request-id: 7c1/ab~\r\n";
    let stream = chat(json!({"stream": true}));
    for (method, path, body) in [
        ("GET", "/health", ""),
        ("POST", CHAT, stream.as_str()),
        ("POST", CHAT, "{"),
        ("GET", "/v1/none", ""),
    ] {
        let answer = rig.ask(method, path, id, body).await;
        assert_eq!(answer.header("x-request-id"), Some("7c1/ab~"), "{path}");
    }
    let refused = rig
        .raw(b"GET /health HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\nx-request-id: mine\r\n\r\n")
        .await;
    assert_eq!((refused.status, refused.header("x-request-id")), (403, Some("mine")));
    let long = format!("x-request-id: {}\r\n", "x".repeat(129));
    let made = rig.ask("GET", "/health", &long, "").await;
    let other = rig.ask("GET", "/health", "", "").await;
    assert_eq!(made.header("x-request-id").map(str::len), Some(16));
    assert_ne!(made.header("x-request-id"), other.header("x-request-id"));
    rig.end().await;
}

#[tokio::test]
async fn heads_and_bodies_that_never_end_keep_nobody_waiting() {
    let rig = Rig::new(json!([{}])).await;
    let mut halves = Vec::new();
    for _ in 0..40 {
        halves.push(rig.begin(b"POST /v1/chat/completions HTTP/1.1\r\nhost: loc").await);
        let whole = request(rig.port, "POST", CHAT, "", &chat(json!({})));
        halves.push(rig.begin(&whole[..whole.len() - 1]).await);
    }
    assert_eq!(rig.get("/health").await.status, 200);
    assert_eq!(rig.chat(json!({})).await.status, 200);
    drop(halves);
    rig.end().await;
}
