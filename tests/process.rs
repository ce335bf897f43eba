//! The supervisor over real pipes, processes and signals, with the scripted worker.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::time::Duration;

use hangar_protocol::{FinishReason, Piece, Prompt, Sampling};
use hangar_supervisor::{
    Cause, DispatchError, Exit, Job, Limits, LoadOrder, Reply, ReplyEvent, StateWord, WorkerHandle,
};
use hangar_tests::ScriptedLaunch;
use serde_json::json;

const PATIENCE: Duration = Duration::from_secs(20);

fn limits() -> Limits {
    Limits {
        startup_timeout_ms: 5_000,
        request_timeout_ms: 10_000,
        queue_max_wait_ms: 10_000,
        queue_max_depth: 2,
        idle_unload_ms: None,
        max_consecutive_errors: 3,
        cooldown_ms: 60_000,
        shutdown_grace_ms: 300,
        cancel_grace_ms: 300,
        silence_ms: 60_000,
    }
}

struct Rig {
    worker: WorkerHandle,
    _folder: tempfile::TempDir,
}

fn rig_with(limits: Limits, lives: &serde_json::Value) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let launch = ScriptedLaunch::new(env!("CARGO_BIN_EXE_fake-worker"), folder.path(), lives).unwrap();
    let order =
        LoadOrder { model_dir: "/nowhere".into(), context_window_tokens: 64, prefill_chunk_tokens: None };
    Rig { worker: WorkerHandle::spawn(limits, order, Arc::new(launch)), _folder: folder }
}

fn rig(lives: &serde_json::Value) -> Rig {
    rig_with(limits(), lives)
}

fn job() -> Job {
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    Job { prompt: Prompt::default(), sampling, max_tokens: 16 }
}

/// Text so far and how it ended.
async fn read(mut reply: Reply) -> (String, Result<FinishReason, DispatchError>) {
    let mut text = String::new();
    loop {
        match tokio::time::timeout(PATIENCE, reply.events.recv()).await.expect("the reply hangs") {
            Some(ReplyEvent::Pieces(pieces)) => {
                for piece in pieces {
                    if let Piece::Text { text: more } = piece {
                        text.push_str(&more);
                    }
                }
            }
            Some(ReplyEvent::Finished { finished, .. }) => return (text, Ok(finished.reason)),
            Some(ReplyEvent::Failed { error, .. }) => return (text, Err(error)),
            Some(
                ReplyEvent::Queued { .. }
                | ReplyEvent::Loading(_)
                | ReplyEvent::Progress(_)
                | ReplyEvent::Accepted(_)
                | ReplyEvent::Probed(_),
            ) => {}
            None => panic!("the reply ended without an end"),
        }
    }
}

async fn ask(worker: &WorkerHandle) -> (String, Result<FinishReason, DispatchError>) {
    match worker.generate(job()).await {
        Ok(reply) => read(reply).await,
        Err(error) => (String::new(), Err(error)),
    }
}

async fn state(worker: &WorkerHandle, wanted: StateWord) {
    let mut snapshots = worker.subscribe();
    tokio::time::timeout(PATIENCE, snapshots.wait_for(|snapshot| snapshot.state == wanted))
        .await
        .unwrap_or_else(|_| panic!("never {wanted:?}: {:?}", worker.snapshot()))
        .expect("the task lives");
}

fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

async fn gone(pid: u32) {
    let until = tokio::time::Instant::now() + Duration::from_secs(2);
    while lives(pid) {
        assert!(tokio::time::Instant::now() < until, "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_starts_a_worker_and_gets_its_pieces_in_order() {
    let rig = rig(&json!([{}]));
    assert_eq!(ask(&rig.worker).await, ("hello world".into(), Ok(FinishReason::Stop)));
    assert_eq!(rig.worker.snapshot().state, StateWord::Ready);
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 1);
    rig.worker.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overlapping_requests_run_one_after_the_other_and_one_too_many_is_refused() {
    let rig = rig(&json!([{ "piece_delay_ms": 50 }]));
    let first = rig.worker.generate(job()).await.unwrap();
    let second = rig.worker.generate(job()).await.unwrap();
    let third = rig.worker.generate(job()).await.unwrap();
    let refused = rig.worker.generate(job()).await.unwrap_err();
    assert!(matches!(refused, DispatchError::QueueFull { .. }), "{refused}");
    for reply in [first, second, third] {
        assert_eq!(read(reply).await.1, Ok(FinishReason::Stop));
    }
}

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
    assert_eq!(read(reply).await.1, Err(DispatchError::WorkerCrashed { cause: Cause::Silent }));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    gone(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_oversized_lines_break_the_worker_not_the_server() {
    for ending in ["garbage", "oversized"] {
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
async fn a_dropped_reply_cancels_and_the_same_worker_answers_the_next() {
    let rig = rig(&json!([{ "ending": "wedge" }, {}]));
    let mut reply = rig.worker.generate(job()).await.unwrap();
    while !matches!(reply.events.recv().await.unwrap(), ReplyEvent::Accepted(_)) {}
    let pid = rig.worker.snapshot().pid;
    drop(reply);
    state(&rig.worker, StateWord::Ready).await;
    assert_eq!(rig.worker.snapshot().pid, pid);
    assert_eq!(rig.worker.snapshot().counters.failed_requests, 1);
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
async fn a_request_over_its_limit_is_a_timeout_and_the_worker_goes_on() {
    let rig = rig_with(Limits { request_timeout_ms: 200, ..limits() }, &json!([{ "ending": "wedge" }]));
    assert_eq!(ask(&rig.worker).await.1, Err(DispatchError::RequestTimeout { limit_ms: 200 }));
    state(&rig.worker, StateWord::Ready).await;
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
async fn idle_time_unloads_and_the_next_request_loads_again() {
    let rig = rig_with(Limits { idle_unload_ms: Some(50), ..limits() }, &json!([{}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let pid = rig.worker.snapshot().pid.unwrap();
    state(&rig.worker, StateWord::Unloaded).await;
    gone(pid).await;
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn unload_answers_after_the_process_is_gone_and_needs_force_when_busy() {
    let rig = rig(&json!([{ "ending": "wedge" }]));
    let reply = rig.worker.generate(job()).await.unwrap();
    state(&rig.worker, StateWord::Busy).await;
    assert_eq!(rig.worker.unload(false).await, Err(DispatchError::UnloadRefused));
    let unloaded = rig.worker.unload(true).await.unwrap();
    assert!(!lives(unloaded.old_pid.unwrap()));
    assert_eq!(read(reply).await.1, Err(DispatchError::Cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_names_both_processes() {
    let rig = rig(&json!([{}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let restarted = rig.worker.restart().await.unwrap();
    assert!(restarted.old_pid.is_some() && restarted.new_pid.is_some());
    assert_ne!(restarted.old_pid, restarted.new_pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_leaves_no_child_even_if_it_will_not_go() {
    let rig = rig(&json!([{ "heeds_shutdown": false }]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let pid = rig.worker.snapshot().pid.unwrap();
    rig.worker.shutdown().await;
    assert!(!lives(pid));
    assert_eq!(ask(&rig.worker).await.1, Err(DispatchError::ShuttingDown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_executable_is_a_typed_failure_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let launch = ScriptedLaunch::new("/nowhere/worker", folder.path(), &json!([{}])).unwrap();
    let order =
        LoadOrder { model_dir: "/nowhere".into(), context_window_tokens: 64, prefill_chunk_tokens: None };
    let limits = Limits { max_consecutive_errors: 1, ..limits() };
    let worker = WorkerHandle::spawn(limits, order, Arc::new(launch));
    let error = ask(&worker).await.1.unwrap_err().to_string();
    assert!(error.contains("/nowhere/worker"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_request_is_told_its_place_each_time_it_changes_and_the_load_it_waits_for() {
    let rig = rig(&json!([{ "load_delay_ms": 150, "piece_delay_ms": 20 }]));
    let first = rig.worker.generate(job()).await.unwrap();
    let mut third = {
        let _second = rig.worker.generate(job()).await.unwrap();
        let third = rig.worker.generate(job()).await.unwrap();
        assert_eq!(rig.worker.snapshot().waiting_since.len(), 3);
        third
    };
    assert_eq!(read(first).await.1, Ok(FinishReason::Stop));
    let mut places = Vec::new();
    let mut loading = 0;
    let ran_on = loop {
        match tokio::time::timeout(PATIENCE, third.events.recv()).await.unwrap().unwrap() {
            ReplyEvent::Queued { position } => places.push(position),
            ReplyEvent::Loading(_) => loading += 1,
            ReplyEvent::Finished { ran_on, .. } => break ran_on,
            ReplyEvent::Failed { error, .. } => panic!("{error}"),
            ReplyEvent::Progress(_)
            | ReplyEvent::Accepted(_)
            | ReplyEvent::Pieces(_)
            | ReplyEvent::Probed(_) => {}
        }
    };
    assert_eq!(places, [3, 2, 1]);
    assert!(loading > 0);
    assert_eq!((ran_on.generation, ran_on.pid), (1, rig.worker.snapshot().pid));
    assert!(ran_on.memory_before.is_some());
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
    rig.worker.unload(false).await.unwrap();
    let ended = rig.worker.snapshot().last_exit.clone().unwrap();
    assert_eq!((ended.kind, ended.exit, ended.generation), ("ended", Exit::Code(0), 2));
}
