//! The service's switch, and the events the page follows.

use std::time::Duration;

use hangar_supervisor::StateWord;
use serde_json::{Value, json};

use crate::client::{Call, request};
use crate::rig::{Rig, lives, settings};

/// The latest value in what came so far.
fn latest(so_far: &str) -> Value {
    let data = so_far.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    serde_json::from_str(data).unwrap()
}

async fn follow(rig: &Rig) -> Call {
    rig.begin(&request(rig.port, "GET", "/admin/events", "", "")).await
}

#[tokio::test]
async fn a_stopped_service_refuses_by_name_keeps_its_page_and_starts_again() {
    let rig = Rig::new(json!([{}])).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    let pid = rig.worker.snapshot().pid.unwrap();
    let stopped = rig.post("/admin/service/stop", "").await;
    assert_eq!(stopped.json(), json!({"ok": true, "action": "stop", "accepting": false}));
    assert!(!lives(pid));
    assert_eq!(rig.chat(json!({})).await.error(), (503, "stopped".to_owned()));
    assert_eq!(rig.get("/v1/models").await.error(), (503, "stopped".to_owned()));
    assert_eq!(rig.post("/admin/worker/restart", "").await.error(), (503, "stopped".to_owned()));
    let health = rig.get("/health").await;
    assert_eq!(
        (health.status, &health.json()["ok"], &health.json()["accepting"]),
        (200, &json!(true), &json!(false))
    );
    assert_eq!(rig.get("/ready").await.status, 503);
    assert_eq!(rig.get("/").await.status, 200);
    let started = rig.post("/admin/service/start", "").await;
    assert_eq!(started.json(), json!({"ok": true, "action": "start", "accepting": true}));
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_stop_lets_the_running_answer_end() {
    let rig = Rig::new(json!([{"piece_delay_ms": 200}])).await;
    let mut running = rig.begin_chat(json!({"stream": true})).await;
    running.until("assistant").await;
    assert_eq!(rig.post("/admin/service/stop", "").await.status, 200);
    assert!(running.answer().await.body.contains("[DONE]"));
    rig.end().await;
}

#[tokio::test]
async fn what_a_stop_cuts_off_is_told_as_stopped_and_nothing_is_started_for_it() {
    let pieces: Vec<String> = (0..40).map(|number| format!("{number} ")).collect();
    let mut settings = settings();
    let worker = &mut settings.profiles.default_profile_mut().worker;
    (worker.request_timeout_ms, worker.queue_max_wait_ms) = (60_000, 60_000);
    let rig = Rig::with(settings, json!([{"pieces": pieces, "piece_delay_ms": 500}])).await;
    let mut running = rig.begin_chat(json!({"stream": true})).await;
    running.until("\"0 \"").await;
    let waiting = rig.begin_chat(json!({})).await;
    rig.worker.subscribe().wait_for(|snapshot| snapshot.queue_depth == 1).await.unwrap();
    assert_eq!(rig.post("/admin/service/stop", "").await.status, 200);
    let cut = running.answer().await;
    assert!(cut.body.contains("\"code\":\"stopped\"") && !cut.body.contains("[DONE]"), "{}", cut.body);
    assert_eq!(waiting.answer().await.error(), (503, "stopped".to_owned()));
    let snapshot = rig.worker.snapshot();
    assert_eq!((snapshot.state, snapshot.counters.worker_starts), (StateWord::Unloaded, 1));
    rig.end().await;
}

#[tokio::test]
async fn events_tell_everything_at_once_and_again_when_something_changed() {
    let rig = Rig::new(json!([{}])).await;
    let mut events = follow(&rig).await;
    let first = latest(&events.until("\"requests\"").await);
    assert_eq!(first["service"]["url"], format!("http://127.0.0.1:{}", rig.port));
    assert_eq!(first["profile"]["state"], "unloaded");
    assert_eq!(rig.chat(json!({})).await.status, 200);
    let so_far = events.until("\"state\":\"ready\"").await;
    assert_eq!(latest(&so_far)["requests"]["answered"], 1);
    rig.post("/admin/service/stop", "").await;
    let so_far = events.until("\"accepting\":false").await;
    assert_eq!(latest(&so_far)["service"]["accepting"], false);
    rig.end().await;
}

#[tokio::test]
async fn events_come_at_most_four_times_a_second() {
    let pieces: Vec<String> = (0..40).map(|number| format!("{number} ")).collect();
    let rig = Rig::new(json!([{"pieces": pieces, "piece_delay_ms": 25}])).await;
    let mut events = follow(&rig).await;
    events.until("data: ").await;
    let answered = rig.chat(json!({"max_tokens": 40})).await;
    assert_eq!(answered.status, 200);
    rig.state(StateWord::Ready).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let so_far = events.until("\"answered\":1").await;
    let told = so_far.matches("event: snapshot").count();
    assert!((2..=9).contains(&told), "{told} events in about 1.3 s");
    rig.end().await;
}

#[tokio::test]
async fn events_end_with_the_service() {
    let rig = Rig::new(json!([{}])).await;
    let mut events = follow(&rig).await;
    events.until("data: ").await;
    rig.end().await;
    tokio::time::timeout(Duration::from_secs(5), events.answer()).await.expect("the stream goes on");
}
