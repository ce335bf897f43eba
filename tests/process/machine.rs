//! Memory that comes back, and what keeps the machine awake, with given readings and counted holds.

use std::sync::Arc;

use hangar_governor::memory::{self, FakeMemory};
use hangar_governor::power::{FakeWakefulness, Reason};
use hangar_protocol::FinishReason;
use hangar_supervisor::{Host, Reach, StateWord};
use serde_json::json;

use crate::rig::*;

fn host(memory: FakeMemory) -> (Host, FakeWakefulness) {
    let wakefulness = FakeWakefulness::default();
    (Host { memory: Arc::new(memory), wakefulness: Arc::new(wakefulness.clone()) }, wakefulness)
}

#[tokio::test(flavor = "multi_thread")]
async fn unload_says_how_much_came_back() {
    let (host, _) = host(FakeMemory::new(&[Some(300)], &[Some(1_000), Some(1_250)]));
    let rig = rig_on(&host, limits(), &json!([{}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let unloaded = rig.worker.unload(Reach::Idle).await.unwrap();
    assert_eq!((unloaded.resident_before_bytes, unloaded.freed_bytes), (Some(300), Some(250)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_take_meanwhile_does_not_hide_what_came_back() {
    let (host, _) = host(FakeMemory::new(&[Some(300)], &[Some(1_000), Some(900)]));
    let rig = rig_on(&host, limits(), &json!([{}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    assert_eq!(rig.worker.unload(Reach::Idle).await.unwrap().freed_bytes, Some(300));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_cannot_be_measured_is_none_and_never_0() {
    for memory in [
        FakeMemory::new(&[None], &[Some(1_000), Some(1_250)]),
        FakeMemory::new(&[Some(300)], &[Some(1_000), None]),
    ] {
        let rig = rig_on(&host(memory).0, limits(), &json!([{}]));
        assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
        assert_eq!(rig.worker.unload(Reach::Idle).await.unwrap().freed_bytes, None);
    }
    let rig = rig(&json!([{}]));
    let nothing = rig.worker.unload(Reach::Idle).await.unwrap();
    assert_eq!((nothing.old_pid, nothing.resident_before_bytes, nothing.freed_bytes), (None, None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_of_a_living_worker_is_read_from_the_system() {
    let rig = rig(&json!([{}]));
    assert_eq!(ask(&rig.worker).await.1, Ok(FinishReason::Stop));
    let pid = rig.worker.snapshot().pid.unwrap();
    assert!(memory::system().process_bytes(pid).unwrap() > 0);
    assert!(rig.worker.unload(Reach::Idle).await.unwrap().resident_before_bytes.unwrap() > 0);
    assert_eq!(memory::system().process_bytes(pid), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_is_kept_awake_while_a_request_runs_and_not_longer() {
    let (host, wakefulness) = host(FakeMemory::default());
    let rig = rig_on(&host, limits(), &json!([{ "ending": "wedge" }]));
    assert_eq!(wakefulness.held(), [Reason::Serving]);
    let reply = rig.worker.generate(job()).await.unwrap();
    state(&rig.worker, StateWord::Busy).await;
    assert_eq!(wakefulness.held(), [Reason::Serving, Reason::Answering]);
    drop(reply);
    state(&rig.worker, StateWord::Ready).await;
    assert_eq!(wakefulness.held(), [Reason::Serving]);
    rig.worker.shutdown().await;
    drop(rig);
    until(|| wakefulness.held().is_empty()).await;
}
