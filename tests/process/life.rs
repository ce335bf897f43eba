//! Loading, answering, cancelling, ending.

use hangar_protocol::FinishReason;
use hangar_supervisor::{DispatchError, Limits, Reach, ReplyEvent, StateWord};
use serde_json::json;

use crate::rig::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_starts_a_worker_and_gets_its_pieces_in_order() {
    let rig = rig(&json!([{}]));
    assert_eq!(ask(&rig.worker).await, ("hello world".into(), Ok(FinishReason::Stop)));
    assert_eq!(rig.worker.snapshot().state, StateWord::Ready);
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 1);
    rig.worker.shutdown().await;
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
async fn a_request_over_its_limit_is_a_timeout_and_the_worker_goes_on() {
    let rig = rig_with(Limits { request_timeout_ms: 200, ..limits() }, &json!([{ "ending": "wedge" }]));
    assert_eq!(ask(&rig.worker).await.1, Err(DispatchError::RequestTimeout { limit_ms: 200 }));
    state(&rig.worker, StateWord::Ready).await;
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
    assert_eq!(rig.worker.unload(Reach::Idle).await, Err(DispatchError::UnloadRefused));
    let unloaded = rig.worker.unload(Reach::Everything).await.unwrap();
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
