//! Feeds the data_urls claims with whatever libFuzzer makes up.
#![no_main]

#[path = "../../../media/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::data_urls(data));
