//! Commands to the worker.

use hangar_supervisor::StateWord;
use serde_json::json;

use crate::rig::{Rig, lives};

const UNLOAD: &str = "/admin/worker/unload";
const RESTART: &str = "/admin/worker/restart";

#[tokio::test]
async fn an_unload_is_answered_when_the_process_is_gone() {
    let rig = Rig::new(json!([{}])).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    let pid = rig.worker.snapshot().pid.unwrap();
    let answer = rig.post(UNLOAD, "").await;
    let body = answer.json();
    let expected = [("ok", json!(true)), ("action", json!("unload")), ("profile", json!("pocket"))];
    let expected = expected.into_iter().chain([
        ("state", json!("unloaded")),
        ("pid", json!(null)),
        ("old_pid", json!(pid)),
    ]);
    for (key, value) in expected {
        assert_eq!(body[key], value, "{body}");
    }
    assert!(body["resident_before_gb"].as_f64().unwrap() > 0.0, "{body}");
    // So little may be lost in what else the machine does; then it is unknown, never zero.
    assert!(body["freed_gb"].is_null() || body["freed_gb"].as_f64().unwrap() > 0.0, "{body}");
    assert!(!lives(pid));
    assert_eq!(rig.post(UNLOAD, "{}").await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_busy_worker_is_unloaded_by_force_alone() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let mut call = rig.begin_chat(json!({"stream": true})).await;
    call.until("world").await;
    let refused = rig.post(UNLOAD, "").await;
    assert_eq!(refused.error(), (409, "worker_busy".into()));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(rig.post(UNLOAD, r#"{"force":1}"#).await.error(), (400, "bad_request".into()));
    assert_eq!(rig.worker.snapshot().state, StateWord::Busy);
    assert_eq!(rig.post(UNLOAD, r#"{"force":true}"#).await.status, 200);
    let text = call.answer().await.body;
    assert!(text.contains("server_error") && !text.contains("[DONE]"), "{text}");
    rig.end().await;
}

#[tokio::test]
async fn a_restart_is_answered_when_the_new_worker_is_ready() {
    let rig = Rig::new(json!([{}])).await;
    let first = rig.post(RESTART, "").await.json();
    assert_eq!(first["old_pid"], json!(null));
    let second = rig.post(RESTART, "").await.json();
    assert_eq!(second["old_pid"], first["new_pid"]);
    assert_ne!(second["new_pid"], first["new_pid"]);
    assert!(second["startup_ms"].is_u64());
    assert_eq!(rig.worker.snapshot().state, StateWord::Ready);
    rig.end().await;
}

#[tokio::test]
async fn a_restart_mends_a_worker_that_failed_for_good() {
    let fault = json!({"code": "model_missing", "file": "config.json"});
    let rig = Rig::new(json!([{"load_fault": fault}, {}])).await;
    assert_eq!(rig.chat(json!({})).await.error(), (503, "worker_failed".into()));
    assert_eq!(rig.chat(json!({})).await.error(), (503, "worker_failed".into()));
    assert_eq!(rig.post(RESTART, "").await.status, 200);
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}
