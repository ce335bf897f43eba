//! Repeats every body that fuzzing kept.

use std::path::Path;

use super::fuzzed;

/// A corpus is one file: a line of JSON for each input, bytes beyond ASCII as `\u00XX`.
#[test]
fn bodies_kept_by_fuzzing_hold_its_claims() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gemma/fuzz/corpus/requests.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let mut inputs = 0;
    for line in lines.lines() {
        let text: String = serde_json::from_str(line).unwrap();
        let bytes: Vec<u8> = text.chars().map(|each| u8::try_from(u32::from(each)).unwrap()).collect();
        fuzzed::requests(&bytes);
        inputs += 1;
    }
    assert!(inputs >= 100, "only {inputs} inputs");
}
