//! State routes and the page.

use std::time::Duration;

use hangar_supervisor::StateWord;
use serde_json::json;
use tokio::time::Instant;

use crate::rig::{CHAT, Rig, settings};

const STATE_ROUTES: [&str; 6] =
    ["/health", "/ready", "/v1/models", "/admin/stats", "/admin/requests", "/metrics"];

#[tokio::test]
async fn state_is_answered_before_during_and_after_a_load_without_waiting_for_it() {
    let rig = Rig::new(json!([{"load_delay_ms": 1500}])).await;
    let call = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Loading).await;
    let begun = Instant::now();
    for path in STATE_ROUTES {
        assert_eq!(rig.get(path).await.status, 200, "{path}");
    }
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert_eq!(rig.worker.snapshot().state, StateWord::Loading);
    let ready = rig.get("/ready").await.json();
    assert_eq!(ready["cold_load_expected"], true);
    assert_eq!(ready["worker"]["state"], "loading");
    assert_eq!(call.answer().await.status, 200);
    let ready = rig.get("/ready").await.json();
    assert_eq!(ready["actively_ready"], true);
    assert!(ready["worker"]["pid"].is_u64());
    rig.end().await;
}

#[tokio::test]
async fn no_get_has_an_effect() {
    let rig = Rig::new(json!([{}])).await;
    for path in STATE_ROUTES.into_iter().chain([CHAT, "/admin/worker/unload", "/admin/worker/restart", "/"]) {
        rig.get(path).await;
    }
    let snapshot = rig.worker.snapshot();
    assert_eq!((snapshot.state, snapshot.counters.worker_starts), (StateWord::Unloaded, 0));
    rig.end().await;
}

#[tokio::test]
async fn another_method_is_not_found_and_told_the_right_one() {
    let rig = Rig::new(json!([{}])).await;
    for (method, path, allowed) in
        [("GET", CHAT, "POST"), ("POST", "/health", "GET, HEAD"), ("DELETE", "/admin/worker/unload", "POST")]
    {
        let answer = rig.ask(method, path, "", "").await;
        assert_eq!(answer.error(), (404, "not_found".into()));
        assert_eq!(answer.header("allow"), Some(allowed));
    }
    for (method, path) in
        [("GET", "/v1/nothing"), ("POST", "/"), ("GET", "/../etc/passwd"), ("GET", "/%2e%2e/x")]
    {
        assert_eq!(rig.ask(method, path, "", "").await.error(), (404, "not_found".into()), "{path}");
    }
    rig.end().await;
}

#[tokio::test]
async fn a_worker_that_failed_for_good_makes_ready_say_no_and_why() {
    let fault = json!({"code": "model_missing", "file": "config.json"});
    let rig = Rig::new(json!([{"load_fault": fault}])).await;
    let answer = rig.chat(json!({})).await;
    assert_eq!(answer.error(), (503, "worker_failed".into()), "{}", answer.body);
    assert!(answer.body.contains("config.json"), "{}", answer.body);
    let ready = rig.get("/ready").await;
    assert_eq!(ready.status, 503);
    assert_eq!(ready.json()["accepting_requests"], false);
    assert!(ready.json()["worker"]["last_error"].as_str().unwrap().contains("config.json"));
    assert_eq!(rig.get("/health").await.json()["ok"], true);
    rig.end().await;
}

#[tokio::test]
async fn the_page_is_served_and_says_how_to_build_it_when_it_is_not_there() {
    let rig = Rig::new(json!([{}])).await;
    let page = rig.get("/").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert!(page.body.contains("<title>Hangar</title>"));
    std::fs::remove_dir_all(rig.folder.path().join("page")).unwrap();
    let page = rig.get("/").await;
    assert_eq!(page.status, 404);
    assert!(page.body.contains("npm"), "{}", page.body);
    rig.end().await;
}

#[tokio::test]
async fn a_model_that_is_not_to_wait_for_a_request_is_loaded_at_the_start() {
    let mut settings = settings();
    settings.profiles.default_profile_mut().worker.lazy_load = false;
    let rig = Rig::with(settings, json!([{}])).await;
    rig.state(StateWord::Ready).await;
    rig.end().await;
}
