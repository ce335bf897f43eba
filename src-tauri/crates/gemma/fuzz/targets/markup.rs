//! Feeds the markup claims with whatever libFuzzer makes up.
#![no_main]

#[path = "../../tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::markup(data));
