//! Who waits, and what is told meanwhile.

use hangar_protocol::FinishReason;
use hangar_supervisor::{DispatchError, ReplyEvent};
use serde_json::json;

use crate::rig::*;

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
async fn reading_a_prompt_is_told_as_it_goes_on() {
    let rig = rig(&json!([{ "prefill_chunks": 5, "chunk_delay_ms": 60 }]));
    let mut reply = rig.worker.generate(job()).await.unwrap();
    let mut told = Vec::new();
    loop {
        match tokio::time::timeout(PATIENCE, reply.events.recv()).await.unwrap().unwrap() {
            ReplyEvent::Progress(progress) => told.push(progress.processed_tokens),
            ReplyEvent::Finished { .. } => break,
            ReplyEvent::Failed { error, .. } => panic!("{error}"),
            ReplyEvent::Queued { .. }
            | ReplyEvent::Loading(_)
            | ReplyEvent::Accepted(_)
            | ReplyEvent::Pieces(_)
            | ReplyEvent::Probed(_) => {}
        }
    }
    assert!(told.is_sorted() && told.last() > Some(&2), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_client_that_leaves_is_never_sent_to_the_worker_and_the_running_one_is_untouched() {
    let rig = rig(&json!([{ "piece_delay_ms": 50 }]));
    let first = rig.worker.generate(job()).await.unwrap();
    drop(rig.worker.generate(job()).await.unwrap());
    let third = rig.worker.generate(job()).await.unwrap();
    assert_eq!(read(first).await, ("hello world".into(), Ok(FinishReason::Stop)));
    assert_eq!(read(third).await, ("hello world".into(), Ok(FinishReason::Stop)));
    let counters = rig.worker.snapshot().counters;
    assert_eq!((counters.successful_requests, counters.failed_requests), (2, 1));
}
