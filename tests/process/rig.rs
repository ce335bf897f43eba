//! A supervised scripted worker, and questions to it.

use std::sync::Arc;
use std::time::Duration;

use hangar_protocol::{FinishReason, Piece, Prompt, Sampling};
use hangar_supervisor::{
    DispatchError, Host, Job, Limits, LoadOrder, Reply, ReplyEvent, StallLimits, StateWord, WorkerHandle,
};
use hangar_tests::ScriptedLaunch;

pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn limits() -> Limits {
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
        stall: StallLimits { load_ms: 5_000, prefill_ms: 5_000, prefill_token_ms: 0, decode_ms: 5_000 },
    }
}

pub struct Rig {
    pub worker: WorkerHandle,
    _folder: tempfile::TempDir,
}

pub fn rig_with(limits: Limits, lives: &serde_json::Value) -> Rig {
    rig_on(&Host::system(), limits, lives)
}

pub fn rig_on(host: &Host, limits: Limits, lives: &serde_json::Value) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let launch = ScriptedLaunch::new(env!("CARGO_BIN_EXE_fake-worker"), folder.path(), lives).unwrap();
    let order = LoadOrder {
        model_dir: "/nowhere".into(),
        context_window_tokens: 64,
        prefill_chunk_tokens: None,
        state_cache_bytes: 0,
    };
    Rig { worker: WorkerHandle::spawn_on(host, limits, order, Arc::new(launch)), _folder: folder }
}

pub fn rig(lives: &serde_json::Value) -> Rig {
    rig_with(limits(), lives)
}

pub fn job() -> Job {
    let sampling = Sampling { temperature: 0.0, ..Sampling::default() };
    Job { prompt: Prompt::default(), sampling, max_tokens: 16, base: None, keep: None }
}

/// Text so far and how it ended.
pub async fn read(mut reply: Reply) -> (String, Result<FinishReason, DispatchError>) {
    let mut text = String::new();
    loop {
        match tokio::time::timeout(PATIENCE, reply.events.recv()).await.expect("the reply hangs") {
            Some(ReplyEvent::Pieces(pieces)) => {
                for piece in pieces.pieces {
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

pub async fn ask(worker: &WorkerHandle) -> (String, Result<FinishReason, DispatchError>) {
    match worker.generate(job()).await {
        Ok(reply) => read(reply).await,
        Err(error) => (String::new(), Err(error)),
    }
}

pub async fn state(worker: &WorkerHandle, wanted: StateWord) {
    let mut snapshots = worker.subscribe();
    tokio::time::timeout(PATIENCE, snapshots.wait_for(|snapshot| snapshot.state == wanted))
        .await
        .unwrap_or_else(|_| panic!("never {wanted:?}: {:?}", worker.snapshot()))
        .expect("the task lives");
}

pub fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}

pub async fn gone(pid: u32) {
    let until = tokio::time::Instant::now() + Duration::from_secs(2);
    while lives(pid) {
        assert!(tokio::time::Instant::now() < until, "process {pid} lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub async fn until(is_so: impl Fn() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < end, "never so");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
