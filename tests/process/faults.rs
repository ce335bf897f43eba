//! Faults of the worker: each ends typed, and the next request is answered.

use std::sync::Arc;

use hangar_protocol::FinishReason;
use hangar_supervisor::{Cause, DispatchError, Exit, Limits, LoadOrder, Reach, StateWord, WorkerHandle};
use hangar_tests::ScriptedLaunch;
use serde_json::json;

use crate::rig::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_mid_answer_is_typed_and_the_next_request_is_answered() {
    let rig = rig(&json!([{ "ending": "crash" }, {}]));
    let (text, end) = ask(&rig.worker).await;
    assert_eq!(text, "hello world");
    let Err(DispatchError::WorkerCrashed { cause: Cause::Crashed { status, .. } }) = end else {
        panic!("{end:?}")
    };
    assert_eq!(status, Exit::Code(9));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_orderly_exit_mid_answer_is_a_crash_too() {
    let rig = rig(&json!([{ "ending": "exit_in_order" }, {}]));
    assert!(matches!(ask(&rig.worker).await.1, Err(DispatchError::WorkerCrashed { .. })));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_from_outside_names_the_signal() {
    let rig = rig(&json!([{ "ending": "wedge" }, {}]));
    let reply = rig.worker.generate(job()).await.unwrap();
    state(&rig.worker, StateWord::Busy).await;
    let pid = rig.worker.snapshot().pid.unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.try_into().unwrap()), nix::sys::signal::SIGKILL)
        .unwrap();
    let Err(DispatchError::WorkerCrashed { cause: Cause::Crashed { status, .. } }) = read(reply).await.1
    else {
        panic!("not a crash")
    };
    assert_eq!(status.signal().as_deref(), Some("SIGKILL"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_process_is_a_silent_worker_and_the_next_request_is_answered() {
    let rig = rig_with(Limits { silence_ms: 500, ..limits() }, &json!([{ "ending": "wedge" }, {}]));
    let reply = rig.worker.generate(job()).await.unwrap();
    state(&rig.worker, StateWord::Busy).await;
    let pid = rig.worker.snapshot().pid.unwrap();
    let stopped = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
    nix::sys::signal::kill(stopped, nix::sys::signal::SIGSTOP).unwrap();
    assert_eq!(read(reply).await.1, Err(DispatchError::Stalled { cause: Cause::Silent }));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    gone(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_oversized_lines_break_the_worker_not_the_server() {
    for ending in ["garbage", "oversized", "not_utf8"] {
        let rig = rig(&json!([{ "ending": ending }, {}]));
        let end = ask(&rig.worker).await.1;
        assert!(
            matches!(&end, Err(DispatchError::WorkerCrashed { cause: Cause::ProtocolBroken { .. } })),
            "{ending}: {end:?}"
        );
        assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop), "{ending}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_fault_leaves_the_worker_alive() {
    let rig = rig(&json!([{ "ending": "fault" }]));
    assert!(matches!(ask(&rig.worker).await.1, Err(DispatchError::Fault(_))));
    let pid = rig.worker.snapshot().pid;
    assert!(matches!(ask(&rig.worker).await.1, Err(DispatchError::Fault(_))));
    assert_eq!(rig.worker.snapshot().pid, pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ignores_a_cancel_is_killed_and_the_next_request_is_answered() {
    let rig = rig(&json!([{ "ending": "wedge", "heeds_cancel": false }, {}]));
    let reply = rig.worker.generate(job()).await.unwrap();
    state(&rig.worker, StateWord::Busy).await;
    let pid = rig.worker.snapshot().pid.unwrap();
    drop(reply);
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    gone(pid).await;
    assert_eq!(rig.worker.snapshot().counters.forced_kills, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_hello_is_a_start_timeout_and_is_tried_again() {
    let lives = json!([{ "hello_delay_ms": 60_000 }, {}]);
    let rig = rig_with(Limits { startup_timeout_ms: 200, ..limits() }, &lives);
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    assert_eq!(rig.worker.snapshot().counters.startup_timeouts, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_protocol_or_runtime_fails_at_once_with_its_reason() {
    let wrong = rig(&json!([{ "protocol": 999 }]));
    let end = ask(&wrong.worker).await.1;
    assert!(
        matches!(&end, Err(DispatchError::WorkerFailed { cause: Cause::WrongProtocol { found: 999, .. } })),
        "{end:?}"
    );
    let differs = rig(&json!([{ "verdict": { "verdict": "differs", "what": "language.py" } }]));
    let end = ask(&differs.worker).await.1;
    let Err(DispatchError::WorkerFailed { cause: Cause::RuntimeUnverified { what, cure } }) = end else {
        panic!("{end:?}")
    };
    assert!(what.contains("language.py") && cure.contains("repair"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_cannot_load_fails_for_good_until_a_restart() {
    let fault = json!({ "code": "model_missing", "file": "model.safetensors" });
    let rig = rig(&json!([{ "load_fault": fault }, {}]));
    assert!(matches!(ask(&rig.worker).await.1, Err(DispatchError::WorkerFailed { cause: Cause::Load(_) })));
    assert_eq!(rig.worker.snapshot().state, StateWord::Failed);
    rig.worker.restart().await.unwrap();
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
}

#[tokio::test(flavor = "multi_thread")]
async fn three_failed_starts_are_a_cool_down_with_the_time_left() {
    let fault = json!({ "code": "engine", "what": "RuntimeError" });
    let rig = rig_with(Limits { max_consecutive_errors: 1, ..limits() }, &json!([{ "load_fault": fault }]));
    assert!(matches!(ask(&rig.worker).await.1, Err(DispatchError::WorkerNotReady { .. })));
    let Err(DispatchError::CoolingDown { remaining_ms, failures: 1 }) = ask(&rig.worker).await.1 else {
        panic!("no cool-down")
    };
    assert!((50_000..=60_000).contains(&remaining_ms), "{remaining_ms}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_executable_is_a_typed_failure_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let launch = ScriptedLaunch::new("/nowhere/worker", folder.path(), &json!([{}])).unwrap();
    let order = LoadOrder {
        model_dir: "/nowhere".into(),
        context_window_tokens: 64,
        prefill_chunk_tokens: None,
        state_cache_bytes: 0,
    };
    let limits = Limits { max_consecutive_errors: 1, ..limits() };
    let worker = WorkerHandle::spawn(limits, order, Arc::new(launch));
    let error = ask(&worker).await.1.unwrap_err().to_string();
    assert!(error.contains("/nowhere/worker"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_end_of_a_process_is_kept_with_its_kind_and_status() {
    let rig = rig(&json!([{ "ending": "crash" }, {}]));
    assert!(ask(&rig.worker).await.1.is_err());
    let pid = rig.worker.snapshot().last_exit.clone().unwrap().pid;
    assert!(pid.is_some());
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let crashed = rig.worker.snapshot().last_exit.clone().unwrap();
    assert_eq!((crashed.kind, crashed.exit, crashed.generation), ("crashed", Exit::Code(9), 1));
    rig.worker.unload(Reach::Idle).await.unwrap();
    let ended = rig.worker.snapshot().last_exit.clone().unwrap();
    assert_eq!((ended.kind, ended.exit, ended.generation), ("ended", Exit::Code(0), 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_frame_is_a_crash_and_no_hang() {
    let rig = rig(&json!([{ "ending": "half_frame" }, {}]));
    let end = ask(&rig.worker).await.1;
    let Err(DispatchError::WorkerCrashed { cause: Cause::Crashed { status, .. } }) = end else {
        panic!("{end:?}")
    };
    assert_eq!(status, Exit::Code(0));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_standard_error_holds_nothing_up() {
    let rig = rig(&json!([{ "stderr_flood_bytes": 1 << 20 }]));
    assert_eq!(ask(&rig.worker).await, ("hello world".into(), Ok(FinishReason::Stop)));
}

#[tokio::test(flavor = "multi_thread")]
async fn line_ends_of_unicode_and_of_text_arrive_in_their_piece() {
    let texts = ["a\u{2028}b\u{85}c\u{b}d\u{1e}e", "l1\nl2\r\nl3", &"x".repeat(700_000)];
    let rig = rig(&json!([{ "pieces": texts }]));
    assert_eq!(ask(&rig.worker).await, (texts.concat(), Ok(FinishReason::Stop)));
}
