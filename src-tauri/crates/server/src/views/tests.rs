//! What the state views show.

use std::time::Duration;

use hangar_config::Home;
use hangar_protocol::{ModelFacts, Phase, WorkerFault};
use hangar_supervisor::Counters;

use hangar_config::{Profile, Settings};
use hangar_supervisor::Snapshot;

use super::*;
use crate::offer::Towers;
use crate::served::{NoModel, Unavailable};

fn settings() -> Settings {
    let folder = "/nowhere".to_owned();
    let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| folder.clone())).unwrap();
    let mut settings = hangar_config::built_in(&home).unwrap();
    settings.profiles.default_profile_mut().sampling.top_p = 0.5;
    settings
}

fn look(profile: &Profile, snapshot: Snapshot) -> Look<'_> {
    let loaded = snapshot.model.as_ref().map(|model| Towers { image: model.image, audio: model.audio });
    let towers = Towers::known(profile, loaded, None);
    Look { profile, snapshot: std::sync::Arc::new(snapshot), towers, unavailable: None, live_sessions: 0 }
}

/// Two profiles: the default as it is seen, and one whose model is not there.
fn both<'a>(settings: &'a Settings, default: &Snapshot) -> [Look<'a>; 2] {
    let mut profiles = settings.profiles.iter();
    let (first, second) = (profiles.next().unwrap(), profiles.next().unwrap());
    let missing = NoModel { what: "its model is not there".into(), cure: "Download it".into() };
    let absent = Look {
        unavailable: Some(Unavailable::Model(missing)),
        ..look(second, snapshot(StateWord::Unloaded))
    };
    [look(first, default.clone()), absent]
}

fn ready_look(settings: &Settings, default: &Snapshot, door: Door, now: Instant) -> Ready {
    let all = both(settings, default);
    Ready::look(&all[0], &all, door, now)
}

fn snapshot(state: StateWord) -> Snapshot {
    Snapshot {
        state,
        pid: None,
        generation: 0,
        last_exit: None,
        model: None,
        load_ms: None,
        queue_depth: 0,
        waiting_since: Vec::new(),
        queue_max_depth: 4,
        last_failure: None,
        consecutive_failures: 0,
        cooldown_until: None,
        idle_since: None,
        phase: None,
        phase_done: 0,
        phase_total: 0,
        advanced_at: None,
        memory: None,
        counters: Counters::default(),
    }
}

fn ready_one(now: Instant) -> Snapshot {
    Snapshot {
        pid: Some(4711),
        model: Some(ModelFacts {
            model_type: "gemma4".into(),
            parameters: 1_290_000,
            vocabulary_tokens: 1024,
            image: true,
            audio: true,
            prefill_chunk_tokens: 256,
        }),
        load_ms: Some(1234),
        idle_since: Some(now - Duration::from_millis(2500)),
        phase: Some(Phase::Idle),
        memory: Some(MemoryUse { active_bytes: 5 << 20, peak_bytes: 3 << 30, cache_bytes: 0 }),
        counters: Counters { successful_requests: 7, ..Counters::default() },
        ..snapshot(StateWord::Ready)
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_has_not_loaded_yet_looks_like_this() {
    let now = Instant::now();
    insta::assert_json_snapshot!(ready_look(&settings(), &snapshot(StateWord::Unloaded), Door::Open, now));
}

#[tokio::test(start_paused = true)]
async fn a_loaded_service_looks_like_this() {
    let now = Instant::now() + Duration::from_secs(60);
    let snapshot = ready_one(now);
    insta::assert_json_snapshot!("ready", ready_look(&settings(), &snapshot, Door::Open, now));
    insta::assert_json_snapshot!("models", Models::look(&both(&settings(), &snapshot), 1_700_000_000));
    insta::assert_json_snapshot!(
        "stats",
        Stats::look(&settings(), 4017, &both(&settings(), &snapshot)[0], now)
    );
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_says_how_long_and_why() {
    let now = Instant::now();
    let snapshot = Snapshot {
        consecutive_failures: 3,
        cooldown_until: Some(now + Duration::from_millis(14_200)),
        last_failure: Some(Cause::Load(WorkerFault::ModelMissing { file: "config.json".into() })),
        ..snapshot(StateWord::Backoff)
    };
    let ready = ready_look(&settings(), &snapshot, Door::Open, now);
    assert!(!ready.is_ok());
    insta::assert_json_snapshot!(ready);
}

#[test]
fn health_says_who_it_is() {
    let health = serde_json::to_value(Health::now(Door::Open)).unwrap();
    assert_eq!(
        health,
        serde_json::json!({"ok": true, "service": "hangar", "version": VERSION, "accepting": true})
    );
}

#[tokio::test(start_paused = true)]
async fn readiness_follows_what_would_happen_to_a_request() {
    let now = Instant::now();
    let look = |state, failures, door| {
        let snapshot = Snapshot { consecutive_failures: failures, ..snapshot(state) };
        let ready = ready_look(&settings(), &snapshot, door, now);
        (ready.accepting_requests, ready.actively_ready, ready.cold_load_expected)
    };
    for state in [StateWord::Ready, StateWord::Busy] {
        assert_eq!(look(state, 0, Door::Open), (true, true, false));
    }
    for state in [StateWord::Unloaded, StateWord::Starting, StateWord::Loading, StateWord::Stopping] {
        assert_eq!(look(state, 0, Door::Open), (true, false, true));
    }
    assert_eq!(look(StateWord::Backoff, 2, Door::Open), (true, false, true));
    assert_eq!(look(StateWord::Backoff, 3, Door::Open), (false, false, false));
    for state in [StateWord::Failed, StateWord::Closed] {
        assert_eq!(look(state, 0, Door::Open), (false, false, false));
    }
    assert_eq!(look(StateWord::Ready, 0, Door::Ending), (false, false, false));
}
