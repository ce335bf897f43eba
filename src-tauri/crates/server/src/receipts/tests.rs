//! Keeping receipts, and the shape of each kind.

use axum::http::HeaderMap;
use hangar_protocol::{FinishReason, MemoryUse, RequestId, Timings, TokenUse};

use super::*;

const BEFORE: MemoryUse = MemoryUse { active_bytes: 1 << 30, peak_bytes: 1 << 31, cache_bytes: 0 };
const RAN_ON: RanOn = RanOn { generation: 3, pid: Some(77), memory_before: Some(BEFORE) };

fn begin(receipts: &Receipts) -> Draft {
    receipts.begin(&RequestIdent::of(&HeaderMap::new()), "/v1/chat/completions")
}

fn start() -> Start {
    Start { prompt_tokens: 30, cached_tokens: 12, queue_wait_ms: 1.5, load_ms: 20.0, ran_on: RAN_ON }
}

fn finished() -> Finished {
    Finished {
        request: RequestId(1),
        reason: FinishReason::Stop,
        tokens: TokenUse { prompt_tokens: 30, cached_tokens: 12, completion_tokens: 5 },
        timings: Timings { prefill_ms: 10.123_456, generation_ms: 20.0 },
        memory: MemoryUse { active_bytes: 3 << 29, ..BEFORE },
        warnings: Vec::new(),
        kept: None,
    }
}

fn only(receipts: &Receipts) -> Arc<Receipt> {
    let all = receipts.latest();
    assert_eq!(all.len(), 1);
    Arc::clone(&all[0])
}

macro_rules! assert_receipt {
    ($receipt:expr) => {
        insta::assert_json_snapshot!($receipt, {
            ".id" => "[id]",
            ".arrived_at" => "[unix seconds]",
            ".timings.first_text_ms" => insta::dynamic_redaction(|value, _| match value {
                insta::internals::Content::None => "null".to_owned(),
                _ => "[ms]".to_owned(),
            }),
            ".timings.total_ms" => "[ms]",
        });
    };
}

#[test]
fn an_answered_request_has_all_its_figures() {
    let receipts = Receipts::default();
    let mut draft = begin(&receipts);
    draft.asks("pocket", "gemma-4-pocket", true);
    draft.started(&start());
    draft.spoke();
    draft.finished(&finished(), RAN_ON);
    draft.answered("stop");
    drop(draft);
    assert_receipt!(*only(&receipts));
}

#[test]
fn a_refused_request_says_why_and_claims_nothing_else() {
    let receipts = Receipts::default();
    let secret = ApiError::ModelNotFound { asked: "secret".into(), known: "gemma-4-pocket".into() };
    begin(&receipts).refused(&secret, None);
    assert_receipt!(*only(&receipts));
}

#[test]
fn a_broken_request_keeps_what_was_known_and_names_its_process() {
    let receipts = Receipts::default();
    let mut draft = begin(&receipts);
    draft.asks("pocket", "gemma-4-pocket", true);
    draft.started(&start());
    draft.broke(&ApiError::WorkerCrashed { what: "signal 9".into() }, Some(RAN_ON));
    drop(draft);
    assert_receipt!(*only(&receipts));
}

#[test]
fn a_request_whose_client_left_is_kept_too() {
    let receipts = Receipts::default();
    drop(begin(&receipts));
    let text = serde_json::to_value(&*only(&receipts)).unwrap();
    assert_eq!(text["outcome"], "client_gone");
}

#[test]
fn the_last_two_hundred_are_kept_and_the_latest_of_an_id_is_found() {
    let receipts = Receipts::default();
    for number in 0..250_u64 {
        let mut headers = HeaderMap::new();
        headers.insert("x-request-id", format!("r{}", number % 249).parse().unwrap());
        let mut draft = receipts.begin(&RequestIdent::of(&headers), "/v1/chat/completions");
        draft.asks(&number.to_string(), "m", false);
    }
    assert_eq!(receipts.latest().len(), 200);
    assert!(receipts.find("r10").is_none());
    let latest = serde_json::to_value(&*receipts.find("r0").unwrap()).unwrap();
    assert_eq!(latest["profile"], "249");
}
