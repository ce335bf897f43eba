//! Our segments, joined, are what the model's own chat template makes of the same history.
#![expect(clippy::unwrap_used, reason = "reading the golden file may only fail the test")]

use hangar_gemma::{
    Conversation, Group, Message, Part, PastArguments, PastCall, Role, Segment, Thinking, ToolDeclaration,
    render,
};
use serde_json::{Value, json};

/// Histories where the template is not followed: its words, ours in their place, and the reason.
const DIFFERENCES: [(&str, &str, &str, &str); 16] = [
    (
        "developer_later",
        "<|turn>developer\n",
        "<|turn>system\n",
        "the model knows no developer; the role means system wherever it stands",
    ),
    (
        "systems_at_the_head",
        "a<turn|>\n<|turn>system\nb",
        "a\n\nb",
        "instructions before the first question are one system turn",
    ),
    (
        "answer_with_spelled_thinking",
        "<|turn>model\nyes",
        "<|turn>model\n<|channel>thought\nhm<channel|>yes",
        "characters are no markers: what a client sends as text stays text",
    ),
    ("result_of_parts", "18 Csunny", "18 C\nsunny", "parts run together say something else"),
    (
        "user_after_result",
        "<tool_response|><|turn>user",
        "<tool_response|><turn|>\n<|turn>user",
        "the template leaves the model's turn open, and a turn inside a turn was never trained",
    ),
    (
        "system_after_result",
        "<tool_response|><|turn>system",
        "<tool_response|><turn|>\n<|turn>system",
        "as above",
    ),
    (
        "reasoning_behind_the_last_user",
        "<|turn>model\n<|tool_call>",
        "<|turn>model\n<|channel>thought\nI should look.\n<channel|><|tool_call>",
        "thinking between calls is kept until the next question, as the published templates keep it",
    ),
    (
        "thinking_after_a_result",
        "<tool_response|>",
        "<tool_response|><|channel>thought\n",
        "the published templates open the thought that goes on after a tool's answer",
    ),
    (
        "types_that_are_no_string",
        "any:{type:<|\"|>STRING<|\"|>},many:{type:<|\"|>ARRAY<|\"|>},no_schema:{type:<|\"|>STRING<|\"|>},nothing:{type:<|\"|>STRING<|\"|>},number:{type:<|\"|>STRING<|\"|>},union:{type:<|\"|>STRING<|\"|>}},type:<|\"|>STRING<|\"|>",
        "any:{nullable:true,type:<|\"|>STRING<|\"|>},many:{type:<|\"|>ARRAY<|\"|>},no_schema:{type:<|\"|>STRING<|\"|>},nothing:{type:<|\"|>STRING<|\"|>},number:{type:<|\"|>STRING<|\"|>},union:{nullable:true,type:<|\"|>INTEGER<|\"|>}},type:<|\"|>OBJECT<|\"|>",
        "a list of types or alternatives is a type that may be null, not a string",
    ),
    (
        "const_and_enum",
        "kind:{type",
        "kind:{enum:[<|\"|>circle<|\"|>],type",
        "a constant is an enumeration of one",
    ),
    ("type_list", "null],type", "null],nullable:true,type", "a list of types with null says so"),
    (
        "any_of",
        "how many<|\"|>,type:<|\"|>STRING<|\"|>",
        "how many<|\"|>,nullable:true,type:<|\"|>INTEGER<|\"|>",
        "alternatives have a type",
    ),
    (
        "reference",
        "a:{type:<|\"|>STRING<|\"|>},b:{description:<|\"|>the other<|\"|>,type:<|\"|>STRING<|\"|>}",
        "a:{description:<|\"|>a size<|\"|>,type:<|\"|>INTEGER<|\"|>},b:{description:<|\"|>the other<|\"|>,type:<|\"|>INTEGER<|\"|>}",
        "references are followed",
    ),
    ("reference_to_itself", "n:{type:<|\"|>STRING<|\"|>}", "n:{type:<|\"|>OBJECT<|\"|>}", "followed once"),
    (
        "no_top_type",
        "}},type:<|\"|>STRING<|\"|>",
        "}},type:<|\"|>OBJECT<|\"|>",
        "what has properties is an object",
    ),
    (
        "all_of",
        "a:{type:<|\"|>STRING<|\"|>}",
        "a:{description:<|\"|>a size<|\"|>,type:<|\"|>INTEGER<|\"|>}",
        "parts of a schema are put together",
    ),
];

#[test]
fn every_history_renders_as_the_template_renders_it_but_for_the_listed_differences() {
    let cases = cases();
    assert!(cases.len() >= 80, "only {} cases", cases.len());
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let expected = case["expected"].as_str().unwrap();
        let ours = joined(&rendered(case));
        match DIFFERENCES.iter().find(|(known, ..)| *known == name) {
            None => assert_eq!(ours, expected, "{name}"),
            Some((_, theirs, replaced, _)) => {
                assert_eq!(expected.matches(theirs).count(), 1, "{name}: {expected}");
                assert_eq!(ours, expected.replace(theirs, replaced), "{name}");
            }
        }
    }
    for (name, ..) in DIFFERENCES {
        assert!(cases.iter().any(|case| case["name"] == name), "{name} is no case");
    }
}

/// Read by the Python tests, which compare token ids.
#[test]
fn segments_of_every_history_stay_as_they_are() {
    let cases = cases();
    let lines = cases.iter().map(|case| {
        let groups: Vec<Vec<Value>> =
            rendered(case).iter().map(|group| group.segments.iter().map(written).collect()).collect();
        let differs = DIFFERENCES.iter().any(|(name, ..)| case["name"] == *name);
        json!({ "name": case["name"], "differs": differs, "groups": groups }).to_string()
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn longer_history_keeps_the_groups_of_the_shorter_one() {
    for case in cases().iter().filter(|case| !case["name"].as_str().unwrap().starts_with("reasoning")) {
        let messages = messages_of(case);
        let tools = tools_of(case);
        let groups = |messages: &[Message]| {
            render(&Conversation { messages, tools: &tools, thinking: thinking_of(case) }).unwrap().groups
        };
        let whole = groups(&messages);
        let head = messages.iter().take_while(|message| message.role() == Role::System).count();
        for length in head.max(1)..messages.len() {
            let shorter = groups(&messages[..length]);
            let kept = 1 + length - head;
            assert_eq!(shorter[..kept], whole[..kept], "{} cut at {length}", case["name"]);
        }
    }
}

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("golden/render.json")).unwrap()
}

fn rendered(case: &Value) -> Vec<Group> {
    let messages = messages_of(case);
    let tools = tools_of(case);
    let conversation = Conversation { messages: &messages, tools: &tools, thinking: thinking_of(case) };
    render(&conversation).unwrap_or_else(|error| panic!("{}: {error}", case["name"])).groups
}

fn written(segment: &Segment) -> Value {
    match segment {
        Segment::Text(text) => json!({ "text": text }),
        Segment::Control(token) => json!({ "control": token.as_str() }),
        Segment::Image(media) => json!({ "image": media }),
        Segment::Audio(media) => json!({ "audio": media }),
    }
}

fn joined(groups: &[Group]) -> String {
    let mut text = String::new();
    for segment in groups.iter().flat_map(|group| &group.segments) {
        match segment {
            Segment::Text(literal) => text.push_str(literal),
            Segment::Control(token) => text.push_str(token.as_str()),
            Segment::Image(_) => text.push_str("<|image|>"),
            Segment::Audio(_) => text.push_str("<|audio|>"),
        }
    }
    text
}

fn thinking_of(case: &Value) -> Thinking {
    match case["thinking"].as_str().unwrap() {
        "off" => Thinking::Off,
        "off by empty thought" => Thinking::OffByEmptyThought,
        "on" => Thinking::On,
        other => panic!("unknown thinking {other}"),
    }
}

fn messages_of(case: &Value) -> Vec<Message> {
    let mut next = 0;
    case["messages"].as_array().unwrap().iter().map(|message| message_of(message, &mut next)).collect()
}

fn message_of(message: &Value, next_media: &mut u32) -> Message {
    let mut media = || {
        *next_media += 1;
        *next_media - 1
    };
    let part_of = |part: &Value| match part["type"].as_str().unwrap() {
        "text" => Part::Text(part["text"].as_str().unwrap().to_owned()),
        "image" => Part::Image(media()),
        "audio" => Part::Audio(media()),
        other => panic!("unknown part {other}"),
    };
    let content = &message["content"];
    let parts = match content.as_str() {
        Some(text) => vec![Part::Text(text.to_owned())],
        None => content.as_array().into_iter().flatten().map(part_of).collect(),
    };
    match message["role"].as_str().unwrap() {
        "system" | "developer" => Message::System { parts },
        "user" => Message::User { parts },
        "assistant" => Message::Assistant {
            parts,
            reasoning: message["reasoning_content"].as_str().unwrap_or_default().to_owned(),
            calls: message["tool_calls"].as_array().into_iter().flatten().map(call_of).collect(),
        },
        "tool" => Message::Tool { call_id: message["tool_call_id"].as_str().map(str::to_owned), parts },
        other => panic!("unknown role {other}"),
    }
}

fn call_of(call: &Value) -> PastCall {
    let function = &call["function"];
    PastCall {
        id: call["id"].as_str().map(str::to_owned),
        name: function["name"].as_str().unwrap().to_owned(),
        arguments: match function["arguments"].as_object() {
            Some(arguments) => PastArguments::Object(arguments.clone()),
            None => PastArguments::read(function["arguments"].as_str().unwrap()),
        },
    }
}

fn tools_of(case: &Value) -> Vec<ToolDeclaration> {
    let tools = case["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| ToolDeclaration {
            name: tool["name"].as_str().unwrap().to_owned(),
            description: tool["description"].as_str().unwrap().to_owned(),
            parameters: tool["parameters"].clone(),
        })
        .collect()
}
