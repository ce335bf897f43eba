//! Streamed answers.

use std::time::Duration;

use hangar_supervisor::StateWord;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{PATIENCE, request};
use crate::rig::{CHAT, Rig, chat, settings};

/// The data of all events.
fn events(body: &str) -> Vec<&str> {
    body.split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| event.strip_prefix("data: ").unwrap())
        .collect()
}

fn text_of(events: &[&str]) -> String {
    let chunks = events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok());
    chunks.filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_stream_tells_role_text_end_and_counts_in_that_order() {
    let rig = Rig::new(json!([{}])).await;
    let answer = rig.chat(json!({"stream": true, "stream_options": {"include_usage": true}})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let events = events(&answer.body);
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(chunks.len(), 5, "{chunks:?}");
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(chunks[1]["choices"][0]["delta"]["content"], "hello ");
    assert_eq!(chunks[2]["choices"][0]["delta"]["content"], "world");
    assert_eq!(chunks[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(chunks[4]["choices"], json!([]));
    assert_eq!(chunks[4]["usage"]["completion_tokens"], 2);
    assert!(chunks[4]["metrics"]["total_ms"].is_f64());
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"] && chunk["model"] == "gemma-4-pocket"));
    rig.end().await;
}

#[tokio::test]
async fn a_stream_says_the_same_as_a_whole_answer() {
    let pieces = json!([{"pieces": ["a", " é", "😀\n", "data: x\n\n", "\"q\"", "<|turn>", "\u{2028}"]}]);
    let rig = Rig::new(pieces).await;
    let whole = rig.chat(json!({})).await.json();
    let stream = rig.chat(json!({"stream": true})).await;
    assert_eq!(whole["choices"][0]["message"]["content"], text_of(&events(&stream.body)));
    assert!(!stream.body.contains("usage"));
    rig.end().await;
}

#[tokio::test]
async fn each_piece_leaves_when_it_comes() {
    let rig = Rig::new(json!([{"pieces": ["one", "two"], "piece_delay_ms": 400}])).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("\"role\"").await;
    let begun = Instant::now();
    call.until("one").await;
    let first = begun.elapsed();
    let text = call.until("two").await;
    assert!(begun.elapsed() - first > Duration::from_millis(200), "{text}");
    rig.end().await;
}

#[tokio::test]
async fn what_can_be_refused_at_once_still_has_a_status_in_a_stream() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let unknown = rig.chat(json!({"stream": true, "model": "gpt-4"})).await;
    assert_eq!(unknown.error(), (404, "model_not_found".into()));
    let running = rig.begin_chat(json!({"stream": true})).await;
    rig.state(StateWord::Busy).await;
    let mut waiting = rig.begin_chat(json!({"stream": true})).await;
    waiting.until("\"role\"").await;
    assert_eq!(rig.chat(json!({"stream": true})).await.error(), (409, "queue_full".into()));
    drop((running, waiting));
    rig.end().await;
}

#[tokio::test]
async fn a_load_that_fails_ends_the_stream_that_had_begun_with_its_error() {
    let fault = json!({"code": "model_damaged", "file": "model.safetensors", "what": "too short"});
    let rig = Rig::new(json!([{"load_fault": fault}])).await;
    let answer = rig.chat(json!({"stream": true})).await;
    assert_eq!(answer.status, 200);
    let events = events(&answer.body);
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(
        (&last["error"]["code"], &last["error"]["retryable"]),
        (&json!("worker_failed"), &json!(false))
    );
    assert!(last["error"]["message"].as_str().unwrap().contains("model.safetensors"));
    assert!(!answer.body.contains("[DONE]") && !answer.body.contains("\"finish_reason\":\"stop\""));
    rig.end().await;
}

#[tokio::test]
async fn a_stream_lives_while_its_model_loads_and_says_how_far_it_is() {
    let rig = Rig::new(json!([{"load_delay_ms": 1500}])).await;
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("\"role\":\"assistant\"").await;
    rig.state(StateWord::Loading).await;
    call.until("\"prompt_progress\"").await;
    assert_eq!(rig.worker.snapshot().state, StateWord::Loading);
    let body = call.answer().await.body;
    let still = events(&body).into_iter().find(|event| event.contains("prompt_progress")).unwrap();
    let still: Value = serde_json::from_str(still).unwrap();
    assert_eq!(
        (&still["object"], &still["choices"][0]["delta"]),
        (&json!("chat.completion.chunk"), &json!({}))
    );
    for figure in ["total", "cache", "processed", "time_ms"] {
        assert!(still["prompt_progress"][figure].is_number(), "{still}");
    }
    assert!(body.ends_with("data: [DONE]\n\n"));
    rig.end().await;
}

#[tokio::test]
async fn a_stream_that_waits_tells_its_place_and_leaves_the_queue_with_its_client() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let mut running = rig.begin_chat(json!({"stream": true})).await;
    running.until("world").await;
    let mut waiting = rig.begin_chat(json!({"stream": true})).await;
    let told = waiting.until("\"wait_ms\"").await;
    assert!(told.contains("\"queue\":{\"position\":1,"), "{told}");
    let stats = rig.get("/admin/stats").await.json();
    assert_eq!(
        (&stats["queue"]["running"], &stats["queue"]["waiting"][0]["position"]),
        (&json!(true), &json!(1))
    );
    assert!(stats["queue"]["waiting"][0]["wait_ms"].is_f64());
    drop(waiting);
    let mut snapshots = rig.worker.subscribe();
    let left = snapshots.wait_for(|snapshot| snapshot.queue_depth == 0);
    tokio::time::timeout(PATIENCE, left).await.expect("it still waits").unwrap();
    assert_eq!(rig.worker.snapshot().state, StateWord::Busy);
    drop(running);
    rig.end().await;
}

#[tokio::test]
async fn a_worker_that_dies_in_a_stream_ends_it_with_an_error_and_no_done() {
    for ending in ["crash", "garbage", "fault"] {
        let rig = Rig::new(json!([{"ending": ending}, {}])).await;
        let answer = rig.chat(json!({"stream": true})).await;
        assert_eq!(answer.status, 200);
        let events = events(&answer.body);
        assert_eq!(text_of(&events), "hello world");
        let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
        assert_eq!(last["error"]["type"], "server_error", "{ending}");
        assert_eq!(last["error"]["code"], "worker_crashed", "{ending}");
        assert_eq!(last["error"]["retryable"], true);
        assert!(!answer.body.contains("[DONE]") && !answer.body.contains("\"finish_reason\":\"stop\""));
        rig.end().await;
    }
}

#[tokio::test]
async fn a_broken_stream_ends_its_connection() {
    let rig = Rig::new(json!([{"ending": "crash"}])).await;
    let kept_alive = String::from_utf8(request(rig.port, "POST", CHAT, "", &chat(json!({"stream": true}))))
        .unwrap()
        .replace("connection: close\r\n", "");
    // Reads to the end of the connection, which must come.
    let answer = rig.raw(kept_alive.as_bytes()).await;
    assert!(answer.body.contains("server_error"), "{}", answer.body);
    rig.end().await;
}

#[tokio::test]
async fn after_a_broken_stream_the_next_request_is_answered() {
    for ending in ["crash", "garbage", "oversized"] {
        let rig = Rig::new(json!([{"ending": ending}, {}])).await;
        assert!(rig.chat(json!({"stream": true})).await.body.contains("server_error"));
        assert_eq!(rig.chat(json!({})).await.status, 200, "{ending}");
        rig.end().await;
    }
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_answer_at_once() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("world").await;
    assert_eq!(rig.worker.snapshot().state, StateWord::Busy);
    drop(call);
    let begun = Instant::now();
    rig.state(StateWord::Ready).await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    rig.end().await;
}

#[tokio::test]
async fn a_call_that_takes_long_to_be_whole_breaks_no_silence_but_the_stream_does() {
    let pieces = json!([
        {"type": "control", "token": "<|tool_call>"}, "call:f{a:", "1", "2", "3", "4", "5", "}",
        {"type": "control", "token": "<tool_call|>"},
    ]);
    let mut settings = settings();
    settings.profiles.default_profile_mut().context_window_tokens = 4096;
    let rig = Rig::with(settings, json!([{"pieces": pieces, "piece_delay_ms": 200}])).await;
    let tools = json!([{"function": {"name": "f"}}]);
    let answer = rig.chat(json!({"stream": true, "tools": tools})).await;
    let events = events(&answer.body);
    let call = events.iter().position(|event| event.contains("tool_calls")).unwrap();
    let still = events[1..call].iter().map(|event| serde_json::from_str::<Value>(event).unwrap());
    assert!(still.len() >= 3, "{}", answer.body);
    for chunk in still {
        assert_eq!(chunk["choices"][0]["delta"], json!({}));
        assert!(chunk["choices"][0]["finish_reason"].is_null() && chunk.get("usage").is_none(), "{chunk}");
    }
    rig.end().await;
}

#[tokio::test]
async fn silence_is_broken_so_that_clients_do_not_give_up() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("world").await;
    call.until("\"delta\":{}").await;
    drop(call);
    rig.end().await;
}
