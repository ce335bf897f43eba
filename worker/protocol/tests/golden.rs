//! The golden transcripts, which the Python half reads too: every frame, word for word.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use hangar_protocol::{FromWorker, ToWorker, decode, encode};
use serde::{Serialize, de::DeserializeOwned};

fn check<T: Serialize + DeserializeOwned>(transcript: &str, kinds: &[&str]) {
    let mut seen = BTreeSet::new();
    for line in transcript.lines().filter(|line| !line.is_empty()) {
        let frame: T = decode(line.as_bytes()).unwrap_or_else(|error| panic!("{error} in {line}"));
        let written = encode(&frame).unwrap();
        let expected: serde_json::Value = serde_json::from_str(line).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(found, expected, "nothing is added or lost");
        seen.insert(expected["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(seen, kinds.iter().map(|kind| (*kind).to_owned()).collect());
}

#[test]
fn every_frame_to_a_worker_reads_and_writes_as_in_the_transcript() {
    check::<ToWorker>(
        include_str!("../../../tests/golden/to_worker.jsonl"),
        &["load", "generate", "probe", "cancel", "forget", "ping", "shutdown"],
    );
}

#[test]
fn every_frame_from_a_worker_reads_and_writes_as_in_the_transcript() {
    check::<FromWorker>(
        include_str!("../../../tests/golden/from_worker.jsonl"),
        &[
            "hello",
            "beat",
            "loaded",
            "load_failed",
            "accepted",
            "pieces",
            "finished",
            "failed",
            "probed",
            "pong",
        ],
    );
}
