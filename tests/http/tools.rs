//! Tool calls and thinking, whole and streamed.

use serde_json::{Value, json};

use crate::rig::{Rig, settings};

/// A server whose worker writes this markup, with room for tools in the prompt.
async fn rig(life: Value) -> Rig {
    let mut settings = settings();
    let profile = settings.profiles.default_profile_mut();
    (profile.context_window_tokens, profile.max_output_tokens) = (4096, 1024);
    Rig::with(settings, json!([life])).await
}

fn events(body: &str) -> Vec<Value> {
    let data = body.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// Raw markup as the pieces of a scripted life.
fn pieces(raw: &str) -> Value {
    const MARKERS: [&str; 7] =
        ["<|tool_call>", "<tool_call|>", "<|tool_response>", "<|channel>", "<channel|>", "<|\"|>", "<turn|>"];
    let mut pieces = Vec::new();
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        match MARKERS.into_iter().find(|marker| rest.starts_with(marker)) {
            Some(marker) => {
                pieces.push(json!({"type": "control", "token": marker}));
                rest = &rest[marker.len()..];
            }
            None => {
                pieces.push(json!(character.to_string()));
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    json!(pieces)
}

fn tools(names: &[&str]) -> Value {
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
    names
        .iter()
        .map(|name| json!({"type": "function", "function": {"name": name, "parameters": parameters}}))
        .collect()
}

/// A message put together from a stream, as a client does it.
fn gathered(stream: &str) -> Value {
    let mut content = String::new();
    let mut reasoning = String::new();
    let mut calls: Vec<Value> = Vec::new();
    let mut finish = Value::Null;
    for chunk in events(stream) {
        let choice = &chunk["choices"][0];
        content.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        reasoning.push_str(choice["delta"]["reasoning_content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if index == calls.len() {
                assert!(
                    call["id"].is_string()
                        && call["type"] == "function"
                        && call["function"]["name"].is_string()
                );
                calls.push(json!([call["function"]["name"], ""]));
            } else {
                assert!(call.get("id").is_none() && index + 1 == calls.len());
            }
            let so_far = calls[index][1].as_str().unwrap().to_owned();
            calls[index][1] = json!(so_far + call["function"]["arguments"].as_str().unwrap());
        }
        if !choice["finish_reason"].is_null() {
            assert!(finish.is_null(), "a second finish_reason");
            finish = choice["finish_reason"].clone();
        }
    }
    json!([content, reasoning, calls, finish])
}

/// The same from a whole answer.
fn whole(body: &Value) -> Value {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    let calls: Vec<Value> = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| json!([call["function"]["name"], call["function"]["arguments"]]))
        .collect();
    let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
    json!([text("content"), text("reasoning_content"), calls, choice["finish_reason"]])
}

#[tokio::test]
async fn an_answer_with_calls_and_thinking_is_the_same_whole_and_streamed() {
    let call = "<|tool_call>call:weather{city:<|\"|>Oslo \"x\"<|\"|>,days:<|\"|>2<|\"|>}<tool_call|>";
    for (raw, asks, expected) in [
        (
            format!("<|channel>thought\nhm, so<channel|>Let me look.{call}{call}<|tool_response>"),
            json!({"reasoning_effort": "low"}),
            json!([
                "Let me look.",
                "hm, so",
                [
                    ["weather", "{\"city\":\"Oslo \\\"x\\\"\",\"days\":2}"],
                    ["weather", "{\"city\":\"Oslo \\\"x\\\"\",\"days\":2}"]
                ],
                "tool_calls"
            ]),
        ),
        (
            format!("<|channel>thought\nhm<channel|>{call}{call}"),
            json!({"parallel_tool_calls": false, "reasoning_effort": "low", "includeReasoning": false}),
            json!(["", "", [["weather", "{\"city\":\"Oslo \\\"x\\\"\",\"days\":2}"]], "tool_calls"]),
        ),
        (
            "<|tool_call>call:rm{path:<|\"|>/<|\"|>}<tool_call|>".to_owned(),
            json!({}),
            json!([
                "[The model called the tool rm, which is not among the declared tools. The call was left out.]",
                "",
                [],
                "stop"
            ]),
        ),
        (
            format!("<|tool_call>call:delete_everything{{}}<tool_call|>{call}"),
            json!({}),
            json!([
                "[The model called the tool delete_everything, which is not among the declared tools. The call was left out.]",
                "",
                [["weather", "{\"city\":\"Oslo \\\"x\\\"\",\"days\":2}"]],
                "tool_calls"
            ]),
        ),
        ("ends with <|tool".to_owned(), json!({}), json!(["ends with <|tool", "", [], "stop"])),
    ] {
        let rig = rig(json!({"pieces": pieces(&raw)})).await;
        let mut fields = json!({"tools": tools(&["weather"])});
        fields.as_object_mut().unwrap().extend(asks.as_object().unwrap().clone());
        let answer = rig.chat(fields.clone()).await;
        assert_eq!(whole(&answer.json()), expected, "{}", answer.body);
        fields["stream"] = json!(true);
        let stream = rig.chat(fields).await;
        assert_eq!(gathered(&stream.body), expected, "{}", stream.body);
        rig.end().await;
    }
}

#[tokio::test]
async fn a_call_cut_by_the_limit_is_no_call_and_the_limit_is_the_reason() {
    let raw = "Sure.<|tool_call>call:weather{days:1}<tool_call|><|tool_call>call:weather{city:<|\"|>Os";
    let rig = rig(json!({"pieces": pieces(raw), "ending": "length"})).await;
    let expected = json!(["Sure.", "", [["weather", "{\"days\":1}"]], "length"]);
    let fields = json!({"tools": tools(&["weather"])});
    assert_eq!(whole(&rig.chat(fields).await.json()), expected);
    let stream = rig.chat(json!({"tools": tools(&["weather"]), "stream": true})).await;
    assert_eq!(gathered(&stream.body), expected);
    rig.end().await;
}

#[tokio::test]
async fn ids_differ_between_calls_and_between_answers() {
    let raw = "<|tool_call>call:weather{}<tool_call|><|tool_call>call:weather{}<tool_call|>";
    let rig = rig(json!({"pieces": pieces(raw)})).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let body = rig.chat(json!({"tools": tools(&["weather"])})).await.json();
        assert_eq!(body["choices"][0]["message"]["content"], Value::Null);
        let calls = body["choices"][0]["message"]["tool_calls"].as_array().unwrap().clone();
        ids.extend(calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()));
    }
    assert!(
        ids.iter().all(|id| id.len() <= 40 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())),
        "{ids:?}"
    );
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    rig.end().await;
}

#[tokio::test]
async fn hidden_thinking_is_counted_and_never_sent() {
    let raw = "<|channel>thought\nabcd<channel|>ok";
    let rig = rig(json!({"pieces": pieces(raw)})).await;
    let answer = rig.chat(json!({})).await;
    assert!(!answer.body.contains("abcd") && !answer.body.contains("reasoning_content"), "{}", answer.body);
    let usage = &answer.json()["usage"];
    assert_eq!(
        usage["completion_tokens_details"]["reasoning_tokens"],
        raw.chars().count() - "<|channel><channel|>ok".len() + 2
    );
    rig.end().await;
}

#[tokio::test]
async fn what_cannot_be_asked_of_tools_is_refused_by_name() {
    let rig = rig(json!({})).await;
    let refused = async |fields: Value| {
        let answer = rig.chat(fields).await;
        let param = answer.json()["error"]["param"].clone();
        (answer.status, param.as_str().unwrap_or_default().to_owned())
    };
    let nope = json!({"type": "function", "function": {"name": "nope"}});
    assert_eq!(
        refused(json!({"tools": tools(&["f"]), "tool_choice": nope})).await,
        (400, "tool_choice".into())
    );
    assert_eq!(refused(json!({"tools": tools(&["a<tool|>b"])})).await, (400, "tools[0]".into()));
    assert_eq!(refused(json!({"functions": [{"name": "f"}]})).await, (400, "functions".into()));
    let orphan =
        json!([{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "x", "content": "y"}]);
    assert_eq!(refused(json!({"messages": orphan})).await, (400, "messages[1]".into()));
    rig.end().await;
}
