//! Claims that hold for any input; fuzzing makes inputs up, `corpus.rs` repeats those that were kept.
#![allow(dead_code, clippy::allow_attributes, reason = "each fuzz target takes one of them")]

use hangar_gemma::{
    Answer, AnswerEnd, CallIds, ControlToken, Conversation, Delta, Gate, Message, Opening, Part,
    PastArguments, PastCall, Piece, Role, Segment, Stop, Thinking, ToolCall, ToolChoice, ToolDeclaration,
    render,
};
use serde_json::{Value, json};

/// What may be given to a declared tool.
const SCHEMA: &str = r##"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},
"c":{"type":"array","items":{"$ref":"#/properties/b"}},"d":{"type":["number","null"]},"e":{"$ref":"#"},
"f":{"type":"boolean"}},"required":["b"]}"##;

/// However output is cut, a client sees the same; calls are of declared tools, with arguments that are JSON of
/// the declared types.
pub fn markup(data: &[u8]) {
    let Some((&choice, rest)) = data.split_first() else {
        return;
    };
    let raw = String::from_utf8_lossy(rest);
    let stop = [Stop::Ended, Stop::StopText, Stop::Length][usize::from(choice % 3)];
    let opening = if choice & 4 == 0 { Opening::Turn } else { Opening::Thought };
    let gate = Gate {
        tools: vec![tool("f", serde_json::from_str(SCHEMA).unwrap_or_default()), tool("a.g", Value::Null)],
        choice: if choice & 8 == 0 { ToolChoice::Auto } else { ToolChoice::Named("f".to_owned()) },
        one_call: choice & 16 != 0,
    };
    let whole = read(opening, &gate, &raw, stop, usize::MAX);
    assert_eq!(read(opening, &gate, &raw, stop, 1), whole);
    assert_eq!(read(opening, &gate, &raw, stop, 3), whole);
    for (at, call) in whole.calls.iter().enumerate() {
        assert_eq!(call.index as usize, at);
        assert!(call.id.len() <= 40 && call.id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(gate.tools.iter().any(|tool| tool.name == call.name));
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        if call.name == "f" {
            check_types(&arguments, 0);
        }
    }
}

fn check_types(arguments: &Value, level: usize) {
    let arguments = arguments.as_object().expect("arguments are an object");
    for (name, value) in arguments {
        let fits = match name.as_str() {
            "a" => value.is_string(),
            "b" => is_whole(value),
            "c" => value.as_array().is_some_and(|items| items.iter().all(is_whole)),
            "d" => value.is_number() || value.is_null(),
            "e" => {
                check_types(value, level + 1);
                true
            }
            "f" => value.is_boolean(),
            _ => true,
        };
        assert!(fits, "{name} at level {level}: {value}");
    }
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Any history renders or is refused with its place, and what it spells is never a control token.
pub fn segments(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let messages: Vec<Message> = text.split('\u{1}').map(message).collect();
    for thinking in [Thinking::Off, Thinking::OffByEmptyThought, Thinking::On] {
        let plain: Vec<Message> = messages.iter().map(blanked).collect();
        let ours = render(&Conversation { messages: &messages, tools: &[], thinking });
        let blank = render(&Conversation { messages: &plain, tools: &[], thinking });
        match (ours, blank) {
            (Ok(ours), Ok(blank)) => {
                let controls = |groups: &[hangar_gemma::Group]| -> Vec<Segment> {
                    let all = groups.iter().flat_map(|group| group.segments.clone());
                    all.filter(|segment| !matches!(segment, Segment::Text(_))).collect()
                };
                assert_eq!(controls(&ours.groups), controls(&blank.groups));
                for pair in ours.groups.iter().flat_map(|group| group.segments.windows(2)) {
                    assert!(!matches!(pair, [Segment::Text(_), Segment::Text(_)]), "{pair:?}");
                }
            }
            (ours, blank) => assert_eq!(ours.is_err(), blank.is_err()),
        }
    }
}

/// A message from a line: a letter for the role, an id, then text.
fn message(line: &str) -> Message {
    let mut characters = line.chars();
    let role = characters.next().unwrap_or('u');
    let id = characters.next().map(String::from);
    let rest = characters.as_str();
    let parts = || rest.split('\u{2}').map(|text| Part::Text(text.to_owned())).collect();
    match role {
        's' => Message::new(Role::System, parts()),
        'a' => Message::Assistant { parts: parts(), reasoning: rest.to_owned(), calls: vec![] },
        'c' => {
            let call = |text: &str| PastCall {
                id: id.clone(),
                name: text.chars().take(3).collect(),
                arguments: PastArguments::read(text),
            };
            Message::Assistant {
                parts: vec![],
                reasoning: String::new(),
                calls: rest.split('\u{2}').map(call).collect(),
            }
        }
        't' => Message::Tool { call_id: id.filter(|id| id != "-"), parts: parts() },
        'i' => Message::User { parts: vec![Part::Image(0), Part::Text(rest.to_owned())] },
        _ => Message::User { parts: parts() },
    }
}

/// The message with every text replaced by a letter where there is any.
fn blanked(message: &Message) -> Message {
    let word = |text: &str| if text.trim().is_empty() { String::new() } else { "x".to_owned() };
    let mut blank = message.clone();
    let (Message::System { parts }
    | Message::User { parts }
    | Message::Assistant { parts, .. }
    | Message::Tool { parts, .. }) = &mut blank;
    for part in parts.iter_mut() {
        if let Part::Text(text) = part {
            *text = word(text);
        }
    }
    if let Message::Assistant { reasoning, calls, .. } = &mut blank {
        *reasoning = word(reasoning);
        for call in calls {
            call.name = "x".to_owned();
            if let PastArguments::Object(arguments) = &mut call.arguments {
                *arguments = std::mem::take(arguments).into_iter().enumerate().map(renamed).collect();
            }
        }
    }
    blank
}

fn renamed((at, (_, value)): (usize, (String, Value))) -> (String, Value) {
    (format!("k{at:06}"), blank_value(&value))
}

fn blank_value(value: &Value) -> Value {
    match value {
        Value::String(_) => json!("x"),
        Value::Array(items) => items.iter().map(blank_value).collect(),
        // Names decide about the order, so members are blanked to nothing but their strings.
        Value::Object(members) => members
            .iter()
            .enumerate()
            .map(|(at, (_, member))| (format!("k{at:06}"), blank_value(member)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Any schema renders with balanced braces and in bounded size, and any call of its tool is read or left out.
pub fn schemas(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (schema, call) = text.split_once('\u{1}').unwrap_or((&text, "{}"));
    let Ok(schema @ Value::Object(_)) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let tools = [tool("f", schema.clone())];
    let messages = [Message::text(Role::User, "a")];
    let prompt = render(&Conversation { messages: &messages, tools: &tools, thinking: Thinking::Off });
    let opening = &prompt.expect("a schema is never refused").groups[0];
    let mut bare = String::new();
    let mut is_quoted = false;
    for segment in &opening.segments {
        match segment {
            Segment::Control(ControlToken::Quote) => is_quoted = !is_quoted,
            Segment::Text(text) if !is_quoted => bare.push_str(text),
            Segment::Text(_) | Segment::Control(_) | Segment::Image(_) | Segment::Audio(_) => {}
        }
    }
    if !has_braces_in_names(&schema) {
        assert_eq!(bare.matches('{').count(), bare.matches('}').count(), "{bare}");
    }
    assert!(bare.len() < 20_000_000);
    let gate = Gate { tools: tools.to_vec(), ..Gate::default() };
    let raw = format!("<|tool_call>call:f{call}<tool_call|>");
    for call in read(Opening::Turn, &gate, &raw, Stop::Ended, usize::MAX).calls {
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        assert!(arguments.is_object());
    }
}

fn has_braces_in_names(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, member)| name.contains(['{', '}']) || has_braces_in_names(member))
        }
        Value::Array(items) => items.iter().any(has_braces_in_names),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn tool(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration { name: name.to_owned(), description: String::new(), parameters }
}

#[derive(Debug, PartialEq)]
struct Seen {
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    end: AnswerEnd,
}

/// Reads raw markup as a tokenizer would, its text in pieces of so many characters.
fn read(opening: Opening, gate: &Gate, raw: &str, stop: Stop, size: usize) -> Seen {
    let mut answer = Answer::new(opening, gate.clone(), CallIds::new("x"));
    let mut deltas = Vec::new();
    let mut held = String::new();
    let mut held_characters = 0;
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        let name =
            ControlToken::ALL.into_iter().map(ControlToken::as_str).find(|name| rest.starts_with(name));
        if name.is_some() || held_characters >= size {
            deltas.extend(answer.push(Piece::Text(&held)));
            held.clear();
            held_characters = 0;
        }
        rest = &rest[name.map_or(character.len_utf8(), str::len)..];
        match name {
            Some(name) => deltas.extend(answer.push(Piece::Control(name))),
            None => {
                held.push(character);
                held_characters += 1;
            }
        }
    }
    deltas.extend(answer.push(Piece::Text(&held)));
    let mut end = answer.finish(stop);
    deltas.append(&mut end.deltas);
    let mut seen = Seen { text: String::new(), reasoning: String::new(), calls: vec![], end };
    for delta in deltas {
        match delta {
            Delta::Text(text) => seen.text.push_str(&text),
            Delta::Reasoning(text) => seen.reasoning.push_str(&text),
            Delta::Call(call) => seen.calls.push(call),
        }
    }
    seen
}
