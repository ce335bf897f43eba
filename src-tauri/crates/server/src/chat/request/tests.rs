//! What a chat request must hold, and what it is refused for.

use std::sync::Arc;

use hangar_config::Home;
use hangar_gemma::{Message, Part, Role};
use hangar_protocol::Grammar;
use serde_json::json;

use super::*;
use crate::offer::Towers;

mod corpus;
mod fuzzed;
mod media;
mod tools;

fn offer() -> Offer {
    let folder = "/nowhere".to_owned();
    let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| folder.clone())).unwrap();
    let mut profile = hangar_config::built_in(&home).unwrap().profiles.default_profile().clone();
    profile.context_window_tokens = 4096;
    profile.sampling.temperature = 0.25;
    profile.sampling.top_p = 0.5;
    let towers = Towers { image: true, audio: true };
    Offer::new(Arc::new(profile), towers)
}

fn with(fields: Value) -> Result<ChatRequest, ApiError> {
    let mut body = json!({"messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    model(&body)?;
    read(&body, &offer())
}

fn messages(list: Value) -> Result<Vec<Message>, ApiError> {
    read(&json!({"messages": list}), &offer()).map(|request| request.messages)
}

fn refused(result: Result<impl std::fmt::Debug, ApiError>) -> (u16, &'static str, Option<String>) {
    let error = result.unwrap_err();
    (error.status().as_u16(), error.code().word(), error.param().map(str::to_owned))
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn at(param: &str) -> (u16, &'static str, Option<String>) {
    (400, "bad_request", Some(param.to_owned()))
}

fn unsupported(param: &str) -> (u16, &'static str, Option<String>) {
    (400, "unsupported_request", Some(param.to_owned()))
}

#[test]
fn the_smallest_request_gets_the_profile_s_defaults() {
    let request = with(json!({})).unwrap();
    assert_eq!(request.messages, [Message::text(Role::User, "hi")]);
    assert!(!request.stream && !request.include_usage);
    assert_eq!(request.limit, TokenLimit::Default(4095));
    assert_eq!(request.sampling, Sampling { temperature: 0.25, top_p: 0.5, ..Sampling::default() });
}

#[test]
fn every_supported_field_is_read() {
    let request = with(json!({
        "model": "gemma-4-pocket", "stream": true, "stream_options": {"include_usage": true},
        "max_tokens": 5, "max_completion_tokens": 7, "temperature": 2, "top_p": 1, "seed": 42,
    }))
    .unwrap();
    assert!(request.stream && request.include_usage);
    assert_eq!(request.limit, TokenLimit::Named(7));
    assert_eq!(request.sampling, Sampling { temperature: 2.0, seed: Some(42), ..Sampling::default() });
}

#[test]
fn seeds_of_both_signs_up_to_64_bits_are_taken_and_stay_apart() {
    let seed = |value: Value| with(json!({"seed": value})).map(|request| request.sampling.seed);
    assert_eq!(seed(json!(u64::MAX)).unwrap(), seed(json!(-1)).unwrap());
    assert_ne!(seed(json!(i64::MIN)).unwrap(), seed(json!(0)).unwrap());
    for value in [json!(1.5), json!("7"), json!(1e30), json!(true)] {
        assert_eq!(refused(seed(value)), at("seed"));
    }
}

#[test]
fn an_explicit_limit_over_the_window_is_left_to_the_worker_to_refuse_with_figures() {
    assert_eq!(with(json!({"max_tokens": 100_000})).unwrap().limit, TokenLimit::Named(100_000));
    assert_eq!(with(json!({"max_tokens": u32::MAX})).unwrap().limit, TokenLimit::Named(u32::MAX));
}

#[test]
fn numbers_out_of_range_name_their_field() {
    for (field, values) in [
        ("temperature", vec![json!(-0.1), json!(2.1), json!("1"), json!([])]),
        ("top_p", vec![json!(0), json!(1.01), json!(-1), json!("1")]),
        ("top_k", vec![json!(-2), json!(1.5), json!("1"), json!(1e12)]),
        ("min_p", vec![json!(-0.1), json!(1.1), json!("1")]),
        ("repetition_penalty", vec![json!(0), json!(-1), json!(10.5), json!("1")]),
        ("repeat_penalty", vec![json!(0)]),
        ("presence_penalty", vec![json!(-2.1), json!(2.1), json!(true)]),
        ("frequency_penalty", vec![json!(-2.1), json!(2.1)]),
        ("stop", vec![json!(1), json!({}), json!(["a", "b", "c", "d", "e"]), json!("a".repeat(1001))]),
        ("max_tokens", vec![json!(0), json!(-1), json!(1.5), json!("5"), json!(true)]),
        ("max_completion_tokens", vec![json!(0), json!({})]),
        ("stream", vec![json!("true"), json!(1)]),
        ("stream_options", vec![json!(true), json!([])]),
        ("model", vec![json!(7), json!({})]),
    ] {
        for value in values {
            assert_eq!(refused(with(json!({ field: value }))), at(field), "{value}");
        }
    }
    assert_eq!(refused(with(json!({"stop": ["a", ""]}))), at("stop[1]"));
    assert_eq!(
        refused(with(json!({"stream_options": {"include_usage": 1}}))),
        at("stream_options.include_usage")
    );
}

#[test]
fn every_parameter_of_sampling_is_read() {
    let sampling = with(json!({
        "top_k": 40, "min_p": 0.25, "repetition_penalty": 1.5, "presence_penalty": -2, "frequency_penalty": 0.5,
        "stop": ["a", "\n"], "temperature": 0, "top_p": 1,
    }))
    .unwrap()
    .sampling;
    let wanted = Sampling {
        temperature: 0.0,
        top_k: 40,
        min_p: 0.25,
        repetition_penalty: 1.5,
        presence_penalty: -2.0,
        frequency_penalty: 0.5,
        stop: vec!["a".into(), "\n".into()],
        ..Sampling::default()
    };
    assert_eq!(sampling, wanted);
}

#[test]
fn parameters_have_the_forms_that_other_servers_read() {
    let sampling = |fields| with(fields).unwrap().sampling;
    assert_eq!(sampling(json!({"top_k": -1})).top_k, 0);
    assert_eq!(sampling(json!({"repeat_penalty": 1.25})).repetition_penalty, 1.25);
    assert_eq!(sampling(json!({"repetition_penalty": 2, "repeat_penalty": 1.25})).repetition_penalty, 2.0);
    assert_eq!(sampling(json!({"stop": "END"})).stop, ["END"]);
    for nothing in [json!(""), json!([]), json!(null)] {
        assert!(sampling(json!({ "stop": nothing })).stop.is_empty());
    }
}

#[test]
fn a_response_format_becomes_a_grammar_and_its_schema_keeps_its_order() {
    let grammar =
        |format: Value| with(json!({ "response_format": format })).map(|read| read.sampling.grammar);
    let schema = json!({"type": "object", "properties": {"z": {}, "a": {}}});
    let by_schema =
        Some(Grammar::JsonSchema { schema_json: r#"{"type":"object","properties":{"z":{},"a":{}}}"#.into() });
    assert_eq!(grammar(json!({"type": "text"})).unwrap(), None);
    assert_eq!(grammar(json!({"type": "json_object"})).unwrap(), Some(Grammar::JsonObject));
    assert_eq!(grammar(json!({"type": "json_object", "schema": schema})).unwrap(), by_schema);
    let named =
        json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}});
    assert_eq!(grammar(named).unwrap(), by_schema);
    for (format, param) in [
        (json!("json"), "response_format"),
        (json!({}), "response_format.type"),
        (json!({"type": "json_schema"}), "response_format.json_schema"),
        (json!({"type": "json_schema", "json_schema": {"name": "n"}}), "response_format.json_schema.schema"),
        (json!({"type": "json_schema", "json_schema": {"schema": []}}), "response_format.json_schema.schema"),
    ] {
        assert_eq!(refused(grammar(format)), at(param));
    }
    assert_eq!(refused(grammar(json!({"type": "grammar"}))), unsupported("response_format.type"));
}

#[test]
fn a_tiny_nucleus_does_not_become_zero() {
    assert!(with(json!({"top_p": 1e-300})).unwrap().sampling.top_p > 0.0);
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for body in [json!([]), json!("x"), json!(1), json!(null)] {
        assert_eq!(refused(read(&body, &offer())), (400, "bad_request", None));
    }
}

#[test]
fn messages_must_be_there_be_an_array_and_hold_one() {
    for body in [json!({}), json!({"messages": null}), json!({"messages": "hi"}), json!({"messages": []})] {
        assert_eq!(refused(read(&body, &offer())), at("messages"), "{body}");
    }
}

#[test]
fn a_model_is_named_or_left_out() {
    assert_eq!(model(&json!({"model": "gpt-4"})), Ok(Some("gpt-4")));
    assert_eq!(model(&json!({"model": null})), Ok(None));
    assert_eq!(model(&json!({})), Ok(None));
}

#[test]
fn content_is_a_string_one_part_or_parts() {
    let read = messages(json!([
        {"role": "system", "content": "s"},
        {"role": "developer", "content": {"type": "text", "text": "d"}},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, {"type": "output_text", "text": "c"}]},
        {"role": "assistant", "content": null, "tool_calls": [], "refusal": null},
        {"role": "assistant"},
    ]))
    .unwrap();
    assert_eq!(read[1], Message::new(Role::System, vec![text("d")]));
    assert_eq!(read[2].parts(), [text("a"), text("b")]);
    assert_eq!(read[3].parts(), [text("c")]);
    assert!(read[4].parts().is_empty() && read[5].parts().is_empty());
}

#[test]
fn ill_made_messages_name_the_very_field() {
    for (list, param) in [
        (json!(["hi"]), "messages[0]"),
        (json!([{"content": "hi"}]), "messages[0].role"),
        (json!([{"role": "king", "content": "hi"}]), "messages[0].role"),
        (json!([{"role": 1, "content": "hi"}]), "messages[0].role"),
        (json!([{"role": "user"}]), "messages[0].content"),
        (json!([{"role": "user"}]), "messages[0].content"),
        (json!([{"role": "user", "content": 5}]), "messages[0].content"),
        (
            json!([{"role": "user", "content": "a"}, {"role": "user", "content": ["b"]}]),
            "messages[1].content[0]",
        ),
        (json!([{"role": "user", "content": [{"text": "b"}]}]), "messages[0].content[0].type"),
        (json!([{"role": "user", "content": [{"type": "text"}]}]), "messages[0].content[0].text"),
        (json!([{"role": "user", "content": [{"type": "text", "text": 1}]}]), "messages[0].content[0].text"),
    ] {
        assert_eq!(refused(messages(list)), at(param));
    }
}

#[test]
fn values_that_ask_for_nothing_are_accepted_and_others_named() {
    for (field, nothing, something) in [
        ("n", vec![json!(1)], json!(2)),
        ("functions", vec![json!([])], json!([{}])),
        ("function_call", vec![json!("auto")], json!({"name": "f"})),
        ("logit_bias", vec![json!({})], json!({"5": 1})),
        ("modalities", vec![json!(["text"])], json!(["text", "audio"])),
        ("audio", vec![], json!({"voice": "x"})),
        ("web_search_options", vec![], json!({})),
        ("best_of", vec![json!(1)], json!(2)),
        ("n_predict", vec![], json!(5)),
        ("min_tokens", vec![json!(0)], json!(5)),
        ("ignore_eos", vec![json!(false)], json!(true)),
        ("echo", vec![json!(false)], json!(true)),
        ("suffix", vec![json!("")], json!("x")),
        ("grammar", vec![json!("")], json!("root ::= x")),
        ("json_schema", vec![json!({})], json!({"type": "object"})),
        ("guided_json", vec![json!({})], json!({"type": "object"})),
        ("guided_choice", vec![json!([])], json!(["a"])),
        ("mirostat", vec![json!(0)], json!(2)),
        ("typical_p", vec![json!(1.0)], json!(0.5)),
    ] {
        for value in nothing.into_iter().chain([json!(null)]) {
            assert!(with(json!({ field: value.clone() })).is_ok(), "{field} {value}");
        }
        assert_eq!(refused(with(json!({ field: something }))), unsupported(field));
    }
}

#[test]
fn content_that_is_null_is_none_whoever_speaks() {
    for role in ["system", "user", "assistant"] {
        let read =
            with(json!({"messages": [{"role": role, "content": null}, {"role": "user", "content": "a"}]}));
        assert!(read.unwrap().messages[0].parts().is_empty(), "{role}");
    }
}

#[test]
fn log_probabilities_are_asked_for_with_up_to_twenty_others_beside_each() {
    for (asked, read) in [
        (json!({}), None),
        (json!({"logprobs": false, "top_logprobs": 0}), None),
        (json!({"logprobs": true}), Some(0)),
        (json!({"logprobs": true, "top_logprobs": 20}), Some(20)),
    ] {
        assert_eq!(with(asked.clone()).unwrap().sampling.logprobs, read, "{asked}");
    }
    for (asked, refusal) in [
        (json!({"logprobs": 5}), at("logprobs")),
        (json!({"logprobs": true, "top_logprobs": 21}), at("top_logprobs")),
        (json!({"logprobs": true, "top_logprobs": 1.5}), at("top_logprobs")),
        (json!({"top_logprobs": 3}), unsupported("top_logprobs")),
    ] {
        assert_eq!(refused(with(asked.clone())), refusal, "{asked}");
    }
}

#[test]
fn fields_that_only_inform_and_fields_nobody_knows_are_ignored() {
    let request = with(json!({
        "store": false, "metadata": {"a": "b"}, "user": "me", "service_tier": "auto", "prompt_cache_key": "k",
        "parallel_tool_calls": true, "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": false},
        "something_new": [1, 2],
    }));
    assert!(request.is_ok());
}
