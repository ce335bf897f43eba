//! Bodies that are not what they should be.

use serde_json::json;

use crate::rig::{CHAT, Rig, chat};

#[tokio::test]
async fn a_body_is_read_whatever_its_content_type() {
    let rig = Rig::new(json!([{}])).await;
    for headers in ["", "content-type: text/plain\r\n", "content-type: application/x-www-form-urlencoded\r\n"]
    {
        assert_eq!(rig.ask("POST", CHAT, headers, &chat(json!({}))).await.status, 200, "{headers}");
    }
    rig.end().await;
}

#[tokio::test]
async fn bad_bodies_get_a_typed_error_and_start_no_worker() {
    let rig = Rig::new(json!([{}])).await;
    for (body, kind, param) in [
        ("", "bad_request", json!(null)),
        ("{\"messages\":", "bad_request", json!(null)),
        ("[]", "bad_request", json!(null)),
        ("{}", "bad_request", json!("messages")),
        (r#"{"messages":[]}"#, "bad_request", json!("messages")),
        (r#"{"messages":[{"role":"user","content":"\ud800"}]}"#, "bad_request", json!(null)),
        (r#"{"messages":[{"role":"user","content":"a"}],"stream":"yes"}"#, "bad_request", json!("stream")),
        (r#"{"messages":[{"role":"user","content":"a"}],"n":2}"#, "unsupported_request", json!("n")),
        (r#"{"messages":[{"role":"user","content":"a"}],"stop":7}"#, "bad_request", json!("stop")),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"stream":true,"stream":true}"#,
            "bad_request",
            json!("stream"),
        ),
    ] {
        let answer = rig.post(CHAT, body).await;
        assert_eq!(answer.error(), (400, kind.into()), "{body}");
        assert_eq!(answer.json()["error"]["param"], param, "{body}");
        assert_eq!(answer.json()["error"]["code"], kind, "{body}");
    }
    let deep = "[".repeat(20_000);
    assert_eq!(rig.post(CHAT, &deep).await.error(), (400, "bad_request".into()));
    assert_eq!(rig.chat(json!({"model": "gpt"})).await.error(), (404, "model_not_found".into()));
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    rig.end().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_its_length_said_or_not() {
    let rig = Rig::new(json!([{}])).await;
    let long = chat(json!({"user": "x".repeat(100_000)}));
    let answer = rig.post(CHAT, &long).await;
    assert_eq!(answer.error(), (413, "payload_too_large".into()));
    assert!(answer.body.contains("65536"), "{}", answer.body);
    let mut chunked = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    for _ in 0..10 {
        chunked.push_str(&format!("2710\r\n{}\r\n", "x".repeat(10_000)));
    }
    chunked.push_str("0\r\n\r\n");
    assert_eq!(rig.raw(chunked.as_bytes()).await.error(), (413, "payload_too_large".into()));
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}
