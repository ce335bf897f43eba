//! Standstill, silence and faults at random moments: each ends typed, and the next request is answered.

use std::time::Duration;

use hangar_protocol::{FinishReason, Phase};
use hangar_supervisor::{Cause, DispatchError, Limits, StallLimits, StateWord, WorkerHandle};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::rig::*;

/// A rig whose worker may stand still for 300 ms in any phase.
fn watched(lives: &serde_json::Value) -> Rig {
    let stall = StallLimits { load_ms: 300, prefill_ms: 300, prefill_token_ms: 0, decode_ms: 300 };
    rig_with(Limits { stall, silence_ms: 600, ..limits() }, lives)
}

fn stalled_in(end: &Result<FinishReason, DispatchError>) -> Option<Phase> {
    match end {
        Err(DispatchError::Stalled { cause: Cause::Stalled { phase, .. } }) => Some(*phase),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_beats_but_stands_still_in_an_answer_is_replaced() {
    for (life, phase) in [
        (json!({ "prefill_chunks": 2, "wedge_in": "prefill", "heeds_cancel": false }), Phase::Prefill),
        (json!({ "ending": "wedge", "heeds_cancel": false }), Phase::Decode),
    ] {
        let rig = watched(&json!([life, {}]));
        let end = ask(&rig.worker).await.1;
        assert_eq!(stalled_in(&end), Some(phase), "{end:?}");
        assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
        let snapshot = rig.worker.snapshot();
        let last = snapshot.last_exit.as_ref().unwrap();
        assert_eq!((last.kind, last.generation, snapshot.generation), ("stalled", 1, 2));
        assert_eq!(snapshot.counters.forced_kills, 1);
        gone(last.pid.unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_load_that_stands_still_is_answered_by_the_next_worker() {
    let rig = watched(&json!([{ "wedge_in": "load" }, {}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    assert_eq!(rig.worker.snapshot().last_exit.as_ref().unwrap().kind, "stalled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stands_still_without_a_beat_is_replaced_too() {
    for life in [
        json!({ "ending": "wedge", "beats": false, "heeds_cancel": false }),
        json!({ "prefill_chunks": 2, "wedge_in": "prefill", "beats": false, "heeds_cancel": false }),
    ] {
        let rig = watched(&json!([life, {}]));
        let end = ask(&rig.worker).await.1;
        assert!(matches!(end, Err(DispatchError::Stalled { .. })), "{end:?}");
        assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_progress_is_no_standstill() {
    let life = json!({
        "prefill_chunks": 6, "chunk_delay_ms": 100, "piece_delay_ms": 100, "pieces": ["a", "b", "c", "d", "e"],
    });
    let stall = StallLimits { load_ms: 5_000, prefill_ms: 500, prefill_token_ms: 0, decode_ms: 500 };
    let rig = rig_with(Limits { stall, ..limits() }, &json!([life]));
    assert_eq!(ask(&rig.worker).await, ("abcde".into(), Ok(FinishReason::Stop)));
    assert_eq!(rig.worker.snapshot().counters.forced_kills, 0);
}

/// Sends a signal to whatever worker there is after a while; the process it met.
async fn strike(worker: &WorkerHandle, after: Duration, signal: Signal) -> Option<u32> {
    tokio::time::sleep(after).await;
    let pid = worker.snapshot().pid?;
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.try_into().unwrap()), signal).ok().map(|()| pid)
}

/// One worker struck at a moment that the seed chooses, somewhere in load, prefill or answer.
async fn struck(seed: u64) {
    let life = json!({
        "load_delay_ms": 60, "prefill_chunks": 4, "chunk_delay_ms": 20, "piece_delay_ms": 20,
        "pieces": ["a", "b", "c", "d"],
    });
    let rig = watched(&json!([life]));
    let signal = [Signal::SIGKILL, Signal::SIGSEGV, Signal::SIGSTOP][usize::try_from(seed % 3).unwrap()];
    let after = Duration::from_millis(seed.wrapping_mul(0x9E37_79B9) % 250);
    let (end, met) = tokio::join!(async { ask(&rig.worker).await.1 }, strike(&rig.worker, after, signal));
    match &end {
        // Struck before its turn, and answered by the next worker; or not struck at all.
        Ok(FinishReason::Stop) => {}
        Err(DispatchError::WorkerCrashed { cause: Cause::Crashed { status, .. } }) => {
            assert_eq!(status.signal().as_deref(), Some(signal.as_str()), "seed {seed}");
        }
        Err(DispatchError::Stalled { .. }) => assert_eq!(signal, Signal::SIGSTOP, "seed {seed}"),
        other => panic!("seed {seed}, {signal} after {after:?}: {other:?}"),
    }
    if let Some(pid) = met {
        // It may have been struck just after the answer, and its end not be noticed yet.
        until(|| rig.worker.snapshot().pid != Some(pid)).await;
        gone(pid).await;
    }
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop), "seed {seed}");
    let starts = rig.worker.snapshot().counters.worker_starts;
    assert!(starts <= 1 + u64::from(met.is_some()), "seed {seed}: {starts} starts");
    let pid = rig.worker.snapshot().pid.unwrap();
    rig.worker.shutdown().await;
    assert_eq!(rig.worker.snapshot().state, StateWord::Closed);
    gone(pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_at_any_moment_ends_typed_and_the_next_request_is_answered() {
    for round in 0..3 {
        let struck: Vec<_> = (0..8).map(|at| tokio::spawn(struck(round * 8 + at))).collect();
        for one in struck {
            one.await.unwrap();
        }
    }
}
