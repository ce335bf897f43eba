//! Tools, their results in the history, and thinking.

use hangar_gemma::{Message, PastArguments, ToolChoice};

use super::*;

#[test]
fn arguments_that_unfold_to_more_than_memory_should_hold_are_refused() {
    let history = |arguments: &str| {
        let call = json!({"id": "c", "function": {"name": "f", "arguments": arguments}});
        messages(json!([{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": [call]}]))
    };
    let list = |count: usize| format!("{{\"a\":[{}0]}}", "0,".repeat(count));
    assert!(history(&list(400_000)).is_ok());
    assert_eq!(refused(history(&list(500_000))), at("messages"));
    let part = json!({"type": "tool_use", "name": "f", "input": list(500_000)});
    assert_eq!(refused(messages(json!([{"role": "assistant", "content": [part]}]))), at("messages"));
}

#[test]
fn history_with_tools_is_read_in_every_shape_clients_send() {
    let read = messages(json!([
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}},
            {"id": "c2", "function": {"name": "g", "arguments": {"b": 2}}},
            {"function": {"name": "h"}},
            {"id": "c4", "type": "function", "function": {"name": "i", "arguments": "{"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
        {"role": "tool", "content": null},
        {"role": "assistant", "content": [
            {"type": "text", "text": "t"},
            {"type": "tool_use", "id": "c5", "name": "j", "input": {"c": 3}},
        ]},
    ]))
    .unwrap();
    let Message::Assistant { parts, reasoning, calls } = &read[2] else { panic!() };
    assert_eq!((parts.len(), reasoning.as_str()), (0, "hm"));
    let ids: Vec<Option<&str>> = calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("c1"), Some("c2"), None, Some("c4")]);
    assert_eq!(calls[0].arguments, PastArguments::read("{\"a\":1}"));
    assert_eq!(calls[1].arguments, PastArguments::read("{\"b\":2}"));
    assert_eq!(calls[2].arguments, PastArguments::read(""));
    assert_eq!(calls[3].arguments, PastArguments::Opaque("{".into()));
    assert_eq!(read[3], Message::Tool { call_id: Some("c1".into()), parts: vec![text("x"), text("y")] });
    assert_eq!(read[4], Message::Tool { call_id: None, parts: vec![] });
    let Message::Assistant { parts, calls, .. } = &read[5] else { panic!() };
    assert_eq!((parts, calls[0].name.as_str()), (&vec![text("t")], "j"));
}

#[test]
fn history_that_cannot_be_read_is_refused_with_its_place() {
    for (list, param) in [
        (
            json!([{"role": "user", "content": "a", "tool_calls": [{"function": {"name": "f"}}]}]),
            "messages[0].tool_calls",
        ),
        (json!([{"role": "assistant", "function_call": {"name": "f"}}]), "messages[0].function_call"),
        (json!([{"role": "function", "content": "x"}]), "messages[0].role"),
        (json!([{"role": "user", "content": [{"type": "hologram"}]}]), "messages[0].content[0].type"),
        (json!([{"role": "user", "content": [{"type": "thinking"}]}]), "messages[0].content[0].type"),
        (
            json!([{"role": "user", "content": [{"type": "tool_use", "name": "f"}]}]),
            "messages[0].content[0].type",
        ),
    ] {
        assert_eq!(refused(messages(list)), unsupported(param));
    }
    for (calls, param) in [
        (json!([{"id": "a"}]), "messages[0].tool_calls[0].function"),
        (json!([{"function": {}}]), "messages[0].tool_calls[0].function.name"),
        (
            json!([{"function": {"name": "f", "arguments": [1]}}]),
            "messages[0].tool_calls[0].function.arguments",
        ),
        (json!({}), "messages[0].tool_calls"),
    ] {
        let list = json!([{"role": "assistant", "content": null, "tool_calls": calls}]);
        assert_eq!(refused(messages(list)), at(param));
    }
}

#[test]
fn tools_and_the_choice_among_them_are_read() {
    let tools = json!([
        {"type": "function", "function": {"name": "f", "description": null, "strict": true}},
        {"function": {"name": "g", "description": "d", "parameters": {"type": "object"}}},
    ]);
    let gate = |more: Value| {
        let mut body = json!({ "tools": tools.clone() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(body).map(|request| request.gate)
    };
    let read = gate(json!({"parallel_tool_calls": false})).unwrap();
    assert_eq!((read.choice, read.one_call), (ToolChoice::Auto, true));
    let names: Vec<(&str, &str)> =
        read.tools.iter().map(|tool| (tool.name.as_str(), tool.description.as_str())).collect();
    assert_eq!(names, [("f", ""), ("g", "d")]);
    for (choice, expected) in [
        (json!("auto"), ToolChoice::Auto),
        (json!("none"), ToolChoice::None),
        (json!("required"), ToolChoice::Required),
        (json!({"type": "function", "function": {"name": "g"}}), ToolChoice::Named("g".into())),
    ] {
        assert_eq!(gate(json!({ "tool_choice": choice })).unwrap().choice, expected);
    }
    for wrong in [json!("nope"), json!({"type": "function", "function": {"name": "nope"}}), json!(3)] {
        let error = refused(gate(json!({ "tool_choice": wrong })));
        assert_eq!(error, at("tool_choice"));
    }
    assert_eq!(refused(with(json!({"tool_choice": "required"}))), at("tool_choice"));
    let custom = json!([{"type": "custom", "custom": {"name": "f"}}]);
    assert_eq!(refused(with(json!({ "tools": custom }))), unsupported("tools[0].type"));
    let nameless = json!([{"type": "function", "function": {}}]);
    assert_eq!(refused(with(json!({ "tools": nameless }))), at("tools[0].function.name"));
}

#[test]
fn thinking_is_off_unless_asked_for_by_any_of_its_names() {
    let asked = |more: Value| {
        let thinking = with(more).unwrap().thinking;
        (thinking.thinks, thinking.shows)
    };
    assert_eq!(asked(json!({})), (false, false));
    for on in [
        json!({"reasoning_effort": "low"}),
        json!({"thinkLevel": "high"}),
        json!({"enable_thinking": true}),
        json!({"chat_template_kwargs": {"enable_thinking": true}}),
        json!({"chat_template_kwargs": {"enable_thinking": true}, "reasoning_effort": "none"}),
        json!({"reasoning": {"effort": "low"}}),
        json!({"reasoning": {"enabled": true}}),
        json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    ] {
        assert_eq!(asked(on.clone()), (true, true), "{on}");
    }
    for off in [
        json!({"reasoning_effort": "none"}),
        json!({"reasoning_effort": "minimal", "includeReasoning": true}),
        json!({"thinkLevel": "off", "reasoning_effort": "high"}),
        json!({"chat_template_kwargs": {"enable_thinking": false}, "reasoning_effort": "high"}),
        json!({"chat_template_kwargs": {}}),
        json!({"reasoning": {}}),
        json!({"reasoning": {"effort": "none"}, "thinking": {"type": "enabled"}}),
        json!({"thinking": {"type": "disabled"}}),
    ] {
        assert_eq!(asked(off.clone()), (false, false), "{off}");
    }
    assert_eq!(asked(json!({"reasoning_effort": "high", "includeReasoning": false})), (true, false));
    assert_eq!(refused(with(json!({"reasoning_effort": "loud"}))), at("reasoning_effort"));
    assert_eq!(refused(with(json!({"thinking": {"type": "deep"}}))), at("thinking.type"));
    let unknown = json!({"chat_template_kwargs": {"documents": []}});
    assert_eq!(refused(with(unknown)), unsupported("chat_template_kwargs.documents"));
}
