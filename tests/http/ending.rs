//! How the service ends.

use std::time::Duration;

use hangar_server::Wish;
use hangar_supervisor::StateWord;
use serde_json::json;
use tokio::time::Instant;

use crate::client::PATIENCE;
use crate::rig::{CHAT, Rig, chat, lives};

#[tokio::test]
async fn a_running_answer_ends_in_order_and_nothing_new_is_taken() {
    let rig = Rig::new(json!([{"piece_delay_ms": 400}])).await;
    let running = rig.begin_chat(json!({"stream": true})).await;
    rig.state(StateWord::Busy).await;
    let pid = rig.worker.snapshot().pid.unwrap();
    rig.wish.send_replace(Wish::Drain);
    let late = loop {
        let answer = rig.post(CHAT, &chat(json!({"max_tokens": 1}))).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(late.error(), (503, "shutting_down".into()));
    assert!(late.header("retry-after").is_some());
    assert_eq!(rig.get("/ready").await.status, 503);
    assert_eq!(rig.get("/health").await.status, 200);
    assert!(running.answer().await.body.contains("[DONE]"));
    tokio::time::timeout(PATIENCE, rig.serving).await.unwrap().unwrap();
    assert!(!lives(pid));
}

#[tokio::test]
async fn a_second_wish_ends_answers_that_would_go_on() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("world").await;
    let pid = rig.worker.snapshot().pid.unwrap();
    rig.wish.send_replace(Wish::Drain);
    rig.wish.send_replace(Wish::AtOnce);
    let begun = Instant::now();
    let text = call.answer().await.body;
    assert!(text.contains("shutting_down") && !text.contains("[DONE]"), "{text}");
    tokio::time::timeout(PATIENCE, rig.serving).await.unwrap().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert!(!lives(pid));
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_end() {
    let rig = Rig::new(json!([{}])).await;
    let idle = rig.begin(b"GET /health HTTP/1.1\r\n").await;
    let begun = Instant::now();
    rig.end().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    drop(idle);
}
