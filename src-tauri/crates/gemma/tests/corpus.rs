//! Repeats every input that fuzzing kept.
#![expect(clippy::unwrap_used, reason = "reading the corpus may only fail the test")]

mod fuzzed;

use std::path::Path;

#[test]
fn inputs_kept_by_fuzzing_markup_hold_its_claims() {
    replay("markup", fuzzed::markup);
}

#[test]
fn inputs_kept_by_fuzzing_segments_hold_its_claims() {
    replay("segments", fuzzed::segments);
}

#[test]
fn inputs_kept_by_fuzzing_schemas_hold_its_claims() {
    replay("schemas", fuzzed::schemas);
}

/// A corpus is one file: a line of JSON for each input, bytes beyond ASCII as `\u00XX`.
fn replay(name: &str, claim: fn(&[u8])) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(format!("{name}.jsonl"));
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
