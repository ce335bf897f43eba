//! What comes after an answer is rendered as it stands in the rendering of the whole.

use hangar_gemma::{
    Continuation, Conversation, Group, Message, PastArguments, PastCall, Role, Segment, Thinking, render,
    render_more,
};

fn flat(groups: &[Group]) -> String {
    let segment = |segment: &Segment| match segment {
        Segment::Text(text) => text.clone(),
        Segment::Control(token) => token.as_str().to_owned(),
        Segment::Image(media) => format!("[image {media}]"),
        Segment::Audio(media) => format!("[audio {media}]"),
    };
    groups.iter().flat_map(|group| &group.segments).map(segment).collect()
}

fn call(id: &str, name: &str) -> PastCall {
    PastCall { id: Some(id.into()), name: name.into(), arguments: PastArguments::read(r#"{"a":1}"#) }
}

fn result(id: &str, text: &str) -> Message {
    Message::Tool { call_id: Some(id.into()), parts: vec![hangar_gemma::Part::Text(text.into())] }
}

/// The whole, cut behind the last thing the answer itself wrote.
fn behind(messages: &[Message], answer: &str, thinking: Thinking) -> String {
    let whole = render(&Conversation { messages, tools: &[], thinking }).expect("it renders");
    let whole = flat(&whole.groups);
    whole.rsplit_once(answer).expect("it is said").1.to_owned()
}

#[test]
fn a_user_who_speaks_again_closes_the_models_turn() {
    let said = [Message::text(Role::User, "a"), Message::text(Role::Assistant, "the answer")];
    let more = [Message::text(Role::User, "b"), Message::text(Role::User, "c <|turn>")];
    for thinking in [Thinking::Off, Thinking::OffByEmptyThought] {
        let rendered = render_more(&Continuation { calls: &[], messages: &more, thinking }).unwrap();
        let whole = [said.as_slice(), &more].concat();
        assert_eq!(flat(&rendered.groups), behind(&whole, "the answer", thinking));
        assert_eq!(rendered.lookalikes, 1);
    }
}

#[test]
fn tools_answer_within_the_models_turn_each_to_its_call() {
    let calls = vec![call("x", "f"), call("y", "g")];
    let asked = Message::Assistant { parts: Vec::new(), reasoning: String::new(), calls: calls.clone() };
    let more = [result("y", "two"), result("x", "one")];
    for thinking in [Thinking::Off, Thinking::On] {
        let rendered = render_more(&Continuation { calls: &calls, messages: &more, thinking }).unwrap();
        let whole = [&[Message::text(Role::User, "a"), asked.clone()], more.as_slice()].concat();
        assert_eq!(flat(&rendered.groups), behind(&whole, "<tool_call|>", thinking));
    }
}

#[test]
fn an_answer_of_a_tool_that_nobody_called_is_refused() {
    let more = [result("z", "one")];
    let refused =
        render_more(&Continuation { calls: &[call("x", "f")], messages: &more, thinking: Thinking::Off });
    assert_eq!(refused.unwrap_err().field(), "messages[0]");
    let nothing = render_more(&Continuation { calls: &[], messages: &[], thinking: Thinking::Off });
    assert_eq!(nothing.unwrap_err().field(), "messages");
}
