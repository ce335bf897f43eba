//! Several profiles behind one server.

use hangar_config::{ModelSource, Profiles};
use hangar_tests::POCKET;
use serde_json::{Value, json};

use crate::rig::{CHAT, Rig, chat, settings};

/// The built-in profiles, and one more whose model is in a folder.
async fn rig() -> Rig {
    let mut settings = settings();
    let mut second = settings.profiles.default_profile().clone();
    let e2b = settings.profiles.find("e2b").unwrap();
    second.id = e2b.id.clone();
    second.model_id = "second".into();
    second.repository.clone_from(&e2b.repository);
    second.source = ModelSource::Folder(POCKET.into());
    let default = settings.profiles.default_profile().clone();
    let others = settings.profiles.iter().skip(1).filter(|profile| profile.id != second.id).cloned();
    let others = std::iter::once(second.clone()).chain(others).collect();
    settings.profiles = Profiles::new(default, others);
    Rig::with(settings, json!([{}, {}, {}])).await
}

async fn states(rig: &Rig) -> Vec<(String, String)> {
    let ready = rig.get("/ready").await.json();
    let word = |worker: &Value| worker["state"].as_str().unwrap().to_owned();
    ready["profiles"].as_object().unwrap().iter().map(|(id, worker)| (id.clone(), word(worker))).collect()
}

fn state_of(states: &[(String, String)], wanted: &str) -> String {
    states.iter().find(|(id, _)| id == wanted).unwrap().1.clone()
}

#[tokio::test]
async fn a_model_is_asked_for_by_any_of_its_names_and_has_a_worker_of_its_own() {
    let rig = rig().await;
    let repository = rig.get("/v1/models").await.json();
    assert_eq!(repository["data"][1]["profile"], "e2b");
    for name in ["e2b", "second", "majentik/gemma-4-E2B-it-TurboQuant-MLX-4bit"] {
        let answer = rig.chat(json!({"model": name})).await;
        assert_eq!((answer.status, &answer.json()["model"]), (200, &json!("second")), "{name}");
    }
    let states = states(&rig).await;
    assert_eq!((state_of(&states, "e2b"), state_of(&states, "pocket")), ("ready".into(), "unloaded".into()));
    assert_eq!(rig.chat(json!({})).await.json()["model"], "gemma-4-pocket");
    rig.end().await;
}

#[tokio::test]
async fn an_unknown_model_is_told_the_known_ones() {
    let rig = rig().await;
    let answer = rig.chat(json!({"model": "gpt-4"})).await;
    assert_eq!(answer.error(), (404, "model_not_found".into()));
    assert!(answer.body.contains("gemma-4-pocket, second, "), "{}", answer.body);
    rig.end().await;
}

#[tokio::test]
async fn a_profile_without_its_model_or_its_backend_is_unavailable_and_says_what_to_do() {
    let rig = rig().await;
    let missing = rig.chat(json!({"model": "26b"})).await;
    assert_eq!(missing.error(), (503, "worker_failed".into()));
    assert_eq!(missing.json()["error"]["retryable"], false);
    assert!(missing.body.contains("Download it") && missing.header("retry-after").is_none());
    let diffusion = rig.ask("POST", CHAT, "", &chat(json!({"model": "diffusion", "stream": true}))).await;
    assert_eq!(diffusion.error(), (422, "unsupported_backend".into()));
    let states = states(&rig).await;
    assert_eq!(
        (state_of(&states, "26b"), state_of(&states, "diffusion")),
        ("unavailable".into(), "unavailable".into())
    );
    let models = rig.get("/v1/models").await.json();
    let unavailable =
        models["data"].as_array().unwrap().iter().filter(|model| model["state"] == "unavailable");
    assert_eq!(unavailable.count(), models["data"].as_array().unwrap().len() - 2);
    let ready = rig.get("/ready").await;
    assert_eq!(ready.status, 200);
    assert!(ready.json()["profiles"]["26b"]["last_error"].as_str().unwrap().contains("Download it"));
    rig.end().await;
}

#[tokio::test]
async fn admin_routes_speak_of_the_profile_in_query_or_address() {
    let rig = rig().await;
    assert_eq!(rig.chat(json!({"model": "e2b"})).await.status, 200);
    assert_eq!(rig.chat(json!({})).await.status, 200);
    assert_eq!(rig.get("/admin/stats?profile=second").await.json()["profile"], "e2b");
    assert_eq!(rig.get("/profiles/e2b/admin/stats").await.json()["metrics"]["successful_requests"], 1);
    let unloaded = rig.post("/profiles/e2b/admin/worker/unload", "").await.json();
    assert_eq!((&unloaded["profile"], &unloaded["state"]), (&json!("e2b"), &json!("unloaded")));
    let states = states(&rig).await;
    assert_eq!((state_of(&states, "e2b"), state_of(&states, "pocket")), ("unloaded".into(), "ready".into()));
    let restarted = rig.post("/admin/worker/restart?profile=e2b", "").await.json();
    assert!(restarted["new_pid"].is_u64());
    for path in ["/admin/stats?profile=none", "/profiles/none/admin/stats"] {
        assert_eq!(rig.get(path).await.error(), (404, "model_not_found".into()), "{path}");
    }
    assert_eq!(rig.get("/admin/worker/unload").await.header("allow"), Some("POST"));
    assert_eq!(rig.get("/profiles/e2b/admin/worker/unload").await.header("allow"), Some("POST"));
    rig.end().await;
}

#[tokio::test]
async fn metrics_are_told_for_every_profile() {
    let rig = rig().await;
    assert_eq!(rig.chat(json!({"model": "e2b"})).await.status, 200);
    let metrics = rig.get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        "# TYPE hangar_requests_answered counter",
        "hangar_requests_answered_total{profile=\"e2b\"} 1",
        "hangar_requests_answered_total{profile=\"pocket\"} 0",
        "hangar_worker_loaded{profile=\"e2b\"} 1",
        "hangar_profile_available{profile=\"26b\"} 0",
    ] {
        assert!(metrics.body.lines().any(|found| found == line), "{line} in {}", metrics.body);
    }
    assert!(metrics.body.ends_with("# EOF\n"));
    assert!(!metrics.body.contains("memory_active_bytes{profile=\"26b\"}"));
    rig.end().await;
}
