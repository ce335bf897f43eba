//! Bodies that are not what they should be.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::rig::{CHAT, Rig, chat, settings};

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
        ("{\"messages\":", "bad_request", json!("messages")),
        ("\u{feff}{\"messages\":[]}", "bad_request", json!("messages")),
        ("[]", "bad_request", json!(null)),
        ("{}", "bad_request", json!("messages")),
        (r#"{"messages":[]}"#, "bad_request", json!("messages")),
        (r#"{"messages":[{"role":"user","content":"\ud800"}]}"#, "bad_request", json!("messages[0].content")),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"tools":[{"function":{"name":"\ud800"}}]}"#,
            "bad_request",
            json!("tools[0].function.name"),
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"temperature":NaN}"#,
            "bad_request",
            json!("temperature"),
        ),
        (r#"{"messages":[{"role":"user","content":"a"}],"top_p":Infinity}"#, "bad_request", json!("top_p")),
        (r#"{"messages":[{"role":"user","content":"a"}],"top_p":1e400}"#, "bad_request", json!("top_p")),
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
    assert_eq!(rig.chat(json!({"model": "gpt"})).await.error(), (404, "model_not_found".into()));
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    rig.end().await;
}

/// A request with these bytes for a body.
fn with_body(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn what_is_nested_without_end_is_refused_where_it_begins() {
    let rig = Rig::new(json!([{}])).await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let asking = r#"{"messages":[{"role":"user","content":"a"}]"#;
    for (body, param) in [
        (deep.clone(), "a.a.a.a.a.a.a.a…".to_owned()),
        (
            format!(r#"{asking},"tools":[{{"function":{{"name":"f","parameters":{deep}}}}}]}}"#),
            "tools[0].function.parameters.a.a.a.a…".to_owned(),
        ),
        (
            format!(
                r#"{asking},"response_format":{{"type":"json_schema","json_schema":{{"schema":{deep}}}}}}}"#
            ),
            "response_format.json_schema.schema.a.a.a.a.a…".to_owned(),
        ),
    ] {
        let answer = rig.post(CHAT, &body).await;
        assert_eq!(answer.error(), (400, "bad_request".into()));
        assert_eq!(answer.json()["error"]["param"], param);
        assert!(answer.body.contains("Nest it less"), "{}", answer.body);
    }
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    rig.end().await;
}

#[tokio::test]
async fn old_arguments_that_are_no_json_are_read_as_the_text_they_are() {
    let mut settings = settings();
    settings.profiles.default_profile_mut().context_window_tokens = 1_000_000;
    let rig = Rig::with(settings, json!([{}])).await;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(5000), "}".repeat(5000));
    for arguments in
        [deep.as_str(), r#"{"a":"\ud800"}"#, r#"{"a":NaN}"#, r#"{"a":1e400}"#, "[1]", r#"{"a":1,"a":2}"#]
    {
        let call = json!({"id": "c1", "function": {"name": "f", "arguments": arguments}});
        let messages = json!([
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "b"},
        ]);
        let answer = rig.post(CHAT, &json!({"messages": messages}).to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    rig.end().await;
}

#[tokio::test]
async fn a_body_in_another_encoding_is_told_to_come_as_utf8() {
    let rig = Rig::new(json!([{}])).await;
    let wide: Vec<u8> = chat(json!({})).encode_utf16().flat_map(u16::to_le_bytes).collect();
    for body in [wide.clone(), [vec![0xff, 0xfe], wide].concat(), b"{\"messages\":\"\xe9\"}".to_vec()] {
        let answer = rig.raw(&with_body(&body)).await;
        assert_eq!(answer.error(), (400, "bad_request".into()));
        assert!(answer.body.contains("UTF-8"), "{}", answer.body);
    }
    rig.end().await;
}

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_before_it_is_sent() {
    let rig = Rig::new(json!([{}])).await;
    let head = format!(
        "POST {CHAT} HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 200000000\r\n\r\n"
    );
    let begun = Instant::now();
    let answer = rig.raw(head.as_bytes()).await;
    assert_eq!(answer.error(), (413, "payload_too_large".into()));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    rig.end().await;
}

#[tokio::test]
async fn a_body_of_200_megabytes_is_refused_to_a_client_that_sends_it_all() {
    let rig = Rig::new(json!([{}])).await;
    let body = vec![b' '; 200_000_000];
    let answer = rig.raw(&with_body(&body)).await;
    assert_eq!(answer.error(), (413, "payload_too_large".into()));
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
