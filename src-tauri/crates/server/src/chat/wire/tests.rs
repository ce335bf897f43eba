//! The shapes clients know.

use hangar_gemma::Delta as Told;
use hangar_protocol::{Candidate, MemoryUse, RequestId, Timings as Spent, TokenUse};

use hangar_supervisor::RanOn;

use super::super::hearing::Heard;
use super::*;

const RAN_ON: RanOn = RanOn { generation: 1, pid: None, memory_before: None };

fn envelope() -> Envelope {
    Envelope {
        id: "chatcmpl-abc".into(),
        created: 1_700_000_000,
        model: "gemma-4-pocket".into(),
        scored: false,
    }
}

fn finished(reason: FinishReason) -> Finished {
    Finished {
        request: RequestId(1),
        reason,
        tokens: TokenUse { prompt_tokens: 30, cached_tokens: 12, completion_tokens: 5 },
        timings: Spent { prefill_ms: 10.123_456, generation_ms: 20.0 },
        memory: MemoryUse { active_bytes: 1 << 30, peak_bytes: 3 << 29, cache_bytes: 0 },
        warnings: vec!["The schema's keywords not are not enforced.".into()],
        kept: None,
    }
}

fn ending() -> Ending {
    let start =
        Start { prompt_tokens: 30, cached_tokens: 12, queue_wait_ms: 1.5, load_ms: 0.0, ran_on: RAN_ON };
    Ending::new(
        start,
        &finished(FinishReason::Stop),
        Finish::Stop,
        Intake { audio_tokens: 9, omitted_parts: 1, audio_ms: 360 },
        2,
        40.0,
    )
    .unwrap()
}

#[test]
fn a_whole_answer_has_the_shape_clients_know() {
    insta::assert_json_snapshot!(Completion::new(
        &envelope(),
        &told(&[Told::Text("noted.".into())]),
        &ending()
    ));
}

#[test]
fn an_answer_of_thinking_and_calls_has_the_shape_clients_know() {
    let all = [Told::Reasoning("hm".into()), Told::Call(call(0)), Told::Call(call(1))];
    let whole = serde_json::to_value(Completion::new(&envelope(), &told(&all), &ending())).unwrap();
    insta::assert_json_snapshot!(whole["choices"][0]["message"]);
    let mut stream = event(&envelope(), News::Reasoning("hm"), false);
    for call in [call(0), call(1)] {
        stream.push_str(&event(&envelope(), News::Call(&call), false));
        stream.push_str(&event(&envelope(), News::Arguments(&call), false));
    }
    stream.push_str(&event(&envelope(), News::Finish(&ending()), false));
    insta::assert_snapshot!(stream);
}

#[test]
fn an_empty_answer_is_empty_text_and_one_of_calls_alone_has_none() {
    let content = |all: &[Told]| {
        let whole = serde_json::to_value(Completion::new(&envelope(), &told(all), &ending())).unwrap();
        whole["choices"][0]["message"]["content"].clone()
    };
    assert_eq!(content(&[]), "");
    assert_eq!(content(&[Told::Call(call(0))]), serde_json::Value::Null);
    assert_eq!(content(&[Told::Text("a".into()), Told::Call(call(0))]), "a");
}

fn call(index: u32) -> ToolCall {
    ToolCall { index, id: format!("callx{index}"), name: "f".into(), arguments: r#"{"a":"\"b\""}"#.into() }
}

fn told(all: &[Told]) -> Gathered {
    let mut gathered = Gathered::default();
    gathered.extend(all.iter().map(|delta| Heard { delta: delta.clone(), scores: Vec::new() }).collect());
    gathered
}

#[test]
fn a_stream_with_usage_has_the_shape_clients_know() {
    let envelope = envelope();
    let ending = ending();
    let news = [
        News::Role,
        News::Text("a\n\"b\"", &[]),
        News::StillHere(Some(Still::new(Some(30)))),
        News::StillHere(None),
        News::Finish(&ending),
    ];
    let mut stream: String = news.iter().map(|news| event(&envelope, *news, true)).collect();
    stream.push_str(&usage_event(&envelope, &ending));
    stream.push_str(&data("[DONE]"));
    insta::assert_snapshot!(stream);
}

#[test]
fn without_include_usage_no_chunk_speaks_of_it() {
    assert!(!event(&envelope(), News::Role, false).contains("usage"));
}

#[test]
fn every_event_is_one_line_of_data() {
    let event = event(&envelope(), News::Text("\r\n\n\u{2028}", &[]), false);
    assert_eq!(event.trim_end().lines().count(), 1);
    assert!(event.ends_with("\n\n"));
}

#[test]
fn a_cancelled_answer_has_no_ending() {
    let start =
        Start { prompt_tokens: 1, cached_tokens: 0, queue_wait_ms: 0.0, load_ms: 0.0, ran_on: RAN_ON };
    assert!(
        Ending::new(start, &finished(FinishReason::Cancelled), Finish::Stop, Intake::default(), 0, 1.0)
            .is_none()
    );
}

#[test]
fn scores_have_the_same_shape_in_a_whole_answer_and_in_a_stream() {
    let envelope = Envelope { scored: true, ..envelope() };
    let likely = |bytes: &[u8], logprob| Candidate { bytes: bytes.to_vec(), logprob };
    let half = ScoredToken { bytes: vec![0xc3], logprob: -0.25, top: vec![likely(&[0xc3], -0.25)] };
    let rest = ScoredToken { bytes: vec![0xa9], logprob: -9999.0, top: vec![likely(b"<turn|>", 0.0)] };
    let scores = vec![half, rest];
    let mut gathered = Gathered::default();
    gathered.extend(vec![Heard { delta: Told::Text("é".into()), scores: scores.clone() }]);
    let whole = serde_json::to_value(Completion::new(&envelope, &gathered, &ending())).unwrap();
    let chunk = event(&envelope, News::Text("é", &scores), false);
    let chunk: serde_json::Value =
        serde_json::from_str(chunk.trim_start_matches("data: ").trim_end()).unwrap();
    assert_eq!(whole["choices"][0]["logprobs"], chunk["choices"][0]["logprobs"]);
    insta::assert_json_snapshot!(whole["choices"][0]["logprobs"]);
}
