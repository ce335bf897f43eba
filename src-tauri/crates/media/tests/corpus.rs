//! Repeats every input that fuzzing began with and kept.
#![expect(clippy::unwrap_used, reason = "reading the corpus may only fail the test")]

mod fuzzed;

use std::path::Path;

#[test]
fn inputs_kept_by_fuzzing_data_urls_hold_their_claims() {
    replay("data_urls", fuzzed::data_urls);
}

#[test]
fn inputs_kept_by_fuzzing_waves_hold_their_claims() {
    replay("waves", fuzzed::waves);
}

/// A corpus is one file: a line of JSON for each input, bytes beyond ASCII as `\u00XX`.
fn replay(name: &str, claim: fn(&[u8])) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../gemma/fuzz/corpus").join(format!("{name}.jsonl"));
    let lines = std::fs::read_to_string(path).unwrap();
    let mut inputs = 0;
    for line in lines.lines() {
        let text: String = serde_json::from_str(line).unwrap();
        let bytes: Vec<u8> = text.chars().map(|each| u8::try_from(u32::from(each)).unwrap()).collect();
        claim(&bytes);
        inputs += 1;
    }
    assert!(inputs >= 20, "only {inputs} inputs");
}
