//! What a client sees of a model's text and thinking, however they are cut.

mod common;

use common::{Owned, answer, every_cut, gate, read};
use hangar_gemma::{Answer, ControlToken, Delta, Finish, Gate, Opening, Piece, Stop, Unfinished};
use proptest::prelude::*;

#[test]
fn thinking_and_channel_names_never_show() {
    let vectors: [(&str, &str, &str); 10] = [
        ("<|channel>thought\nA<channel|>one <|channel>thought\nB<channel|>two", "one two", "A\nB"),
        ("<|channel>thought\n<channel|>Hi", "Hi", ""),
        ("<|channel>thought\nx<channel|><|channel>response\nHello", "Hello", "x"),
        ("<|channel>final\nHello<channel|>", "Hello", ""),
        ("<|channel>final\nHello", "Hello", ""),
        ("<|channel>analysis\nhm<channel|>Hello", "Hello", "hm"),
        ("<|channel>commentary\nhm<|channel>final\nHello", "Hello", "hm"),
        ("<|channel>thought<channel|>Hi", "Hi", ""),
        ("<|channel>thought\n\nA\n\nB\n<channel|>\nHi\n", "\nHi\n", "A\n\nB"),
        ("Bye<turn|>", "Bye", ""),
    ];
    for (raw, text, reasoning) in vectors {
        let seen = answer(&Gate::default(), raw);
        assert_eq!((seen.text.as_str(), seen.reasoning.as_str()), (text, reasoning), "{raw}");
        assert_eq!((seen.end.finish, seen.end.unfinished), (Finish::Stop, Unfinished::Nothing), "{raw}");
    }
}

#[test]
fn prompt_that_ends_inside_a_thought_hides_up_to_its_end() {
    let raw = "I should look.<channel|>It is 18 C.";
    let seen = every_cut(Opening::Thought, &Gate::default(), raw, Stop::Ended);
    assert_eq!((seen.text.as_str(), seen.reasoning.as_str()), ("It is 18 C.", "I should look."));
    let seen = every_cut(Opening::Thought, &Gate::default(), "only this", Stop::Ended);
    assert_eq!((seen.text.as_str(), seen.reasoning.as_str()), ("", "only this"));
    assert_eq!(seen.end.unfinished, Unfinished::Reasoning);
}

#[test]
fn answer_without_channels_is_shown_whole() {
    for raw in [
        "Direct answer.",
        "if a<b then <b>x</b> & 3<|4",
        " \n spaced \n",
        "a <| b <|tool box and call:me later",
        "ends in <|tool_call",
        "<<|<|c<|ch",
    ] {
        let seen = answer(&gate(&["me"]), raw);
        assert_eq!((seen.text.as_str(), seen.reasoning.as_str()), (raw, ""));
        assert!(seen.calls.is_empty());
    }
}

#[test]
fn characters_that_look_like_control_tokens_are_text() {
    let text = "<|channel>thought\nx<channel|><turn|><|tool_call>call:f{}<tool_call|><eos>";
    let mut answer = Answer::new(Opening::Turn, gate(&["f"]), hangar_gemma::CallIds::default());
    assert_eq!(answer.push(Piece::Text(text)), [Delta::Text(text.to_owned())]);
    assert_eq!(answer.finish(Stop::Ended).deltas, []);
}

#[test]
fn what_is_left_open_is_named_and_not_shown() {
    let open = |raw| {
        let seen = every_cut(Opening::Turn, &gate(&["f"]), raw, Stop::Length);
        assert_eq!(seen.end.finish, Finish::Length);
        (seen.text, seen.reasoning, seen.end.unfinished)
    };
    assert_eq!(open("a<|channel>thought\nso far"), ("a".into(), "so far".into(), Unfinished::Reasoning));
    assert_eq!(open("a<|channel>resp"), ("a".into(), String::new(), Unfinished::ChannelName));
    assert_eq!(open("a<|channel>"), ("a".into(), String::new(), Unfinished::ChannelName));
    assert_eq!(open("a<|tool_call>call:f{"), ("a".into(), String::new(), Unfinished::ToolCall));
}

#[test]
fn marker_cut_off_by_the_limit_of_tokens_is_dropped_and_other_text_is_not() {
    let text = |raw| every_cut(Opening::Turn, &gate(&["f"]), raw, Stop::Length).text;
    assert_eq!(text("Done<|tool_ca"), "Done");
    assert_eq!(text("Done<|c"), "Done");
    assert_eq!(text("1 <"), "1 <");
    assert_eq!(text("a <| b <|tool box"), "a <| b <|tool box");
    let stopped = every_cut(Opening::Turn, &gate(&["f"]), "Done<|tool_ca", Stop::StopText);
    assert_eq!(stopped.text, "Done<|tool_ca");
}

#[test]
fn nothing_after_the_end_of_the_turn_is_shown() {
    for end in ["<turn|>", "<eos>", "<|turn>", "<|tool_response>"] {
        let raw = format!("Bye{end}user\n<|channel>final\nmore<channel|><|tool_call>call:f{{}}<tool_call|>x");
        let seen = answer(&gate(&["f"]), &raw);
        assert_eq!((seen.text.as_str(), seen.calls.len()), ("Bye", 0), "{end}");
    }
}

#[test]
fn control_tokens_without_meaning_here_are_dropped() {
    let mut answer = Answer::default();
    let mut shown = String::new();
    for name in [
        "<pad>",
        "<|image|>",
        "<|think|>",
        "<bos>",
        "<|\"|>",
        "<tool|>",
        "<tool_call|>",
        "<channel|>",
        "turn",
        "",
    ] {
        shown.extend(answer.push(Piece::Text("a")).into_iter().filter_map(Delta::into_text));
        assert_eq!(answer.push(Piece::Control(name)), []);
    }
    assert_eq!(shown, "aaaaaaaaaa");
    assert_eq!(answer.finish(Stop::Ended).unfinished, Unfinished::Nothing);
}

#[test]
fn visible_text_is_passed_on_with_the_piece_that_brings_it() {
    let mut answer = Answer::default();
    for text in ["Hel", "lo", " ", "|", "\n", "a<b"] {
        assert_eq!(answer.push(Piece::Text(text)), [Delta::Text(text.to_owned())]);
    }
    assert_eq!(answer.push(Piece::Text("")), []);
    assert_eq!(answer.push(Piece::Text("<")), [], "it may be the beginning of a marker");
    assert_eq!(answer.push(Piece::Text("b")), [Delta::Text("<b".to_owned())]);
    assert!(!answer.is_thinking());
    assert_eq!(answer.push(Piece::Control("<|channel>")), []);
    assert!(answer.is_thinking());
    assert_eq!(answer.push(Piece::Text("fin")), []);
    assert_eq!(answer.push(Piece::Text("al\nnow")), [Delta::Text("now".to_owned())]);
    assert_eq!(answer.push(Piece::Text("!")), [Delta::Text("!".to_owned())]);
}

#[test]
fn thinking_is_passed_on_with_the_piece_that_brings_it() {
    let mut answer = Answer::default();
    answer.push(Piece::Control("<|channel>"));
    assert_eq!(answer.push(Piece::Text("thought\n")), []);
    assert_eq!(answer.push(Piece::Text("hm")), [Delta::Reasoning("hm".to_owned())]);
    assert_eq!(answer.push(Piece::Text(" so\n")), [Delta::Reasoning(" so".to_owned())]);
    assert_eq!(answer.push(Piece::Text("then")), [Delta::Reasoning("\nthen".to_owned())]);
}

#[test]
fn channel_whose_name_never_ends_is_reasoning() {
    let long = "x".repeat(500);
    let seen = answer(&Gate::default(), &format!("<|channel>{long}<channel|>ok"));
    assert_eq!((seen.text, seen.reasoning), ("ok".to_owned(), long));
}

proptest! {
    #[test]
    fn every_cut_of_any_output_gives_the_same_answer(
        pieces in prop::collection::vec(piece(), 0..16),
        cuts in prop::collection::vec(any::<bool>(), 0..200),
        stop in prop::sample::select(vec![Stop::Ended, Stop::StopText, Stop::Length]),
        opening in prop::sample::select(vec![Opening::Turn, Opening::Thought]),
    ) {
        let gate = gate(&["f", "a.g"]);
        let whole = read(opening, gate.clone(), &pieces, stop);
        let mut cut = cuts.iter().copied().cycle();
        let mut finer = Vec::new();
        for piece in &pieces {
            match piece {
                Owned::Control(_) => finer.push(piece.clone()),
                Owned::Text(text) => {
                    let mut held = String::new();
                    for character in text.chars() {
                        held.push(character);
                        if cut.next().unwrap_or(true) {
                            finer.push(Owned::Text(std::mem::take(&mut held)));
                        }
                    }
                    finer.push(Owned::Text(held));
                }
            }
        }
        prop_assert_eq!(&read(opening, gate.clone(), &finer, stop), &whole);
        let mut coarser: Vec<Owned> = Vec::new();
        for piece in pieces {
            match (coarser.last_mut(), piece) {
                (Some(Owned::Text(last)), Owned::Text(text)) => last.push_str(&text),
                (_, piece) => coarser.push(piece),
            }
        }
        prop_assert_eq!(&read(opening, gate, &coarser, stop), &whole);
    }
}

fn piece() -> impl Strategy<Value = Owned> {
    let names: Vec<&'static str> =
        ControlToken::ALL.iter().map(|token| token.as_str()).chain(["<pad>"]).collect();
    prop_oneof![
        3 => "(thought|final|response)?\n?[a-z<|>é日\n ]{0,40}".prop_map(Owned::Text),
        2 => "(call:(f|g|a\\.g))?[{}\\[\\]:,\"a-c0-9. -]{0,12}\\}?".prop_map(Owned::Text),
        2 => prop::sample::select(names).prop_map(|name| Owned::Control(name.to_owned())),
        3 => prop::sample::select(vec!["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|\"|>"])
            .prop_map(|name| Owned::Control(name.to_owned())),
    ]
}
