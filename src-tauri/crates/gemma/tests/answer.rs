//! What a client sees of a model's output, however that output is cut.

use hangar_gemma::{Answer, AnswerEnd, ControlToken, Piece, Unfinished};
use proptest::prelude::*;

#[test]
fn thinking_and_channel_names_never_show() {
    let vectors: [(&str, &str, &str); 9] = [
        ("<|channel>thought\nA<channel|>one <|channel>thought\nB<channel|>two", "one two", "A\nB"),
        ("<|channel>thought\n<channel|>Hi", "Hi", ""),
        ("<|channel>thought\nx<channel|><|channel>response\nHello", "Hello", "x"),
        ("<|channel>final\nHello<channel|>", "Hello", ""),
        ("<|channel>analysis\nhm<channel|>Hello", "Hello", "hm"),
        ("<|channel>commentary\nhm<|channel>final\nHello", "Hello", "hm"),
        ("<|channel>thought<channel|>Hi", "Hi", ""),
        ("<|channel>thought\n\nA\nB\n<channel|>\nHi\n", "\nHi\n", "A\nB"),
        (
            "<|channel>thought\nMaybe write call:f{a:1} later<channel|>ok",
            "ok",
            "Maybe write call:f{a:1} later",
        ),
    ];
    for (raw, visible, reasoning) in vectors {
        every_cut(Answer::new, raw, visible, reasoning, 0, Unfinished::Nothing);
    }
}

#[test]
fn prompt_that_ends_inside_a_thought_hides_up_to_its_end() {
    let raw = "I should look.<channel|>It is 18 C.";
    every_cut(Answer::inside_thought, raw, "It is 18 C.", "I should look.", 0, Unfinished::Nothing);
    every_cut(Answer::inside_thought, "only this", "", "only this", 0, Unfinished::Reasoning);
}

#[test]
fn answer_without_channels_is_shown_whole() {
    for raw in [
        "Direct answer.",
        "if a<b then <b>x</b> & 3<|4",
        " \n spaced \n",
        "a <| b <|tool box and call:me later",
    ] {
        every_cut(Answer::new, raw, raw, "", 0, Unfinished::Nothing);
    }
}

#[test]
fn characters_that_look_like_control_tokens_are_text() {
    let text = "<|channel>thought\nx<channel|><turn|><|tool_call>call:f{}<tool_call|><eos>";
    let mut answer = Answer::new();
    assert_eq!(answer.push(Piece::Text(text)).as_deref(), Some(text));
    let end = answer.finish();
    assert_eq!(
        end,
        AnswerEnd { withheld_tool_calls: 0, reasoning: String::new(), unfinished: Unfinished::Nothing }
    );
}

#[test]
fn tool_calls_are_hidden_and_counted() {
    let call = "<|tool_call>call:f{a:<|\"|>1<|\"|>}<tool_call|>";
    let vectors = [
        (format!("Let me check.{call}{call}"), "Let me check.", "", 2),
        (format!("{call}<|tool_response>"), "", "", 1),
        (format!("a{call}b"), "ab", "", 1),
        (format!("<|channel>thought\nI will.{call}<channel|>"), "", "I will.", 1),
        (format!("<|channel>thought\na<channel|>{call}<|channel>thought\nb<channel|>{call}"), "", "a\nb", 2),
        (format!("<|channel>thought{call}x<channel|>y"), "y", "x", 1),
        (format!("<|channel>final{call}x<channel|>y"), "xy", "", 1),
    ];
    for (raw, visible, reasoning, calls) in &vectors {
        every_cut(Answer::new, raw, visible, reasoning, *calls, Unfinished::Nothing);
    }
}

#[test]
fn what_is_left_open_is_named_and_not_shown() {
    every_cut(Answer::new, "Sure.<|tool_call>call:g{b:<|\"|>x", "Sure.", "", 1, Unfinished::ToolCall);
    every_cut(Answer::new, "<|tool_call>call:f{}<turn|>", "", "", 1, Unfinished::ToolCall);
    every_cut(Answer::new, "a<|channel>thought\nso far", "a", "so far", 0, Unfinished::Reasoning);
    every_cut(Answer::new, "a<|channel>thought\nso far<turn|>", "a", "so far", 0, Unfinished::Reasoning);
    every_cut(Answer::new, "a<|channel>resp", "a", "", 0, Unfinished::ChannelName);
    every_cut(Answer::new, "a<|channel>", "a", "", 0, Unfinished::ChannelName);
}

#[test]
fn nothing_after_the_end_of_the_turn_is_shown() {
    for end in ["<turn|>", "<eos>", "<|turn>", "<|tool_response>"] {
        let raw = format!("Bye{end}user\n<|channel>final\nmore<channel|><|tool_call>call:f{{}}<tool_call|>x");
        every_cut(Answer::new, &raw, "Bye", "", 0, Unfinished::Nothing);
    }
}

#[test]
fn control_tokens_without_meaning_here_are_dropped() {
    let mut answer = Answer::new();
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
        shown.push_str(&answer.push(Piece::Text("a")).unwrap());
        assert_eq!(answer.push(Piece::Control(name)), None);
    }
    assert_eq!(shown, "aaaaaaaaaa");
    assert_eq!(answer.finish().unfinished, Unfinished::Nothing);
}

#[test]
fn visible_text_is_passed_on_with_the_piece_that_brings_it() {
    let mut answer = Answer::new();
    for text in ["Hel", "lo", " ", "<", "|", "\n"] {
        assert_eq!(answer.push(Piece::Text(text)).as_deref(), Some(text));
    }
    assert_eq!(answer.push(Piece::Text("")), None);
    assert_eq!(answer.push(Piece::Control("<|channel>")), None);
    assert_eq!(answer.push(Piece::Text("fin")), None);
    assert_eq!(answer.push(Piece::Text("al\nnow")).as_deref(), Some("now"));
    assert_eq!(answer.push(Piece::Text("!")).as_deref(), Some("!"));
}

#[test]
fn channel_whose_name_never_ends_is_reasoning() {
    let long = "x".repeat(500);
    let raw = format!("<|channel>{long}<channel|>ok");
    every_cut(Answer::new, &raw, "ok", &long, 0, Unfinished::Nothing);
}

proptest! {
    #[test]
    fn every_cut_of_any_output_gives_the_same_answer(
        pieces in prop::collection::vec(piece(), 0..12),
        cuts in prop::collection::vec(any::<bool>(), 0..200),
    ) {
        let whole = read(Answer::new(), &pieces);
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
        prop_assert_eq!(&read(Answer::new(), &finer), &whole);
        let mut coarser: Vec<Owned> = Vec::new();
        for piece in pieces {
            match (coarser.last_mut(), piece) {
                (Some(Owned::Text(last)), Owned::Text(text)) => last.push_str(&text),
                (_, piece) => coarser.push(piece),
            }
        }
        prop_assert_eq!(&read(Answer::new(), &coarser), &whole);
    }
}

#[derive(Clone, Debug)]
enum Owned {
    Text(String),
    Control(String),
}

fn piece() -> impl Strategy<Value = Owned> {
    let names: Vec<&'static str> =
        ControlToken::ALL.iter().map(|token| token.as_str()).chain(["<pad>"]).collect();
    prop_oneof![
        2 => "(thought|final|response)?\n?[a-z<|>é日\n ]{0,40}".prop_map(Owned::Text),
        1 => prop::sample::select(names).prop_map(|name| Owned::Control(name.to_owned())),
        1 => prop::sample::select(vec!["<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>"])
            .prop_map(|name| Owned::Control(name.to_owned())),
    ]
}

fn read(mut answer: Answer, pieces: &[Owned]) -> (String, AnswerEnd) {
    let mut visible = String::new();
    for piece in pieces {
        let shown = answer.push(match piece {
            Owned::Text(text) => Piece::Text(text),
            Owned::Control(name) => Piece::Control(name),
        });
        if let Some(text) = shown {
            assert!(!text.is_empty(), "empty text was passed on");
            visible.push_str(&text);
        }
    }
    (visible, answer.finish())
}

/// Reads markup as a tokenizer would, then feeds it in pieces of one, three and all characters.
fn every_cut(
    begin: fn() -> Answer,
    raw: &str,
    visible: &str,
    reasoning: &str,
    withheld_tool_calls: u32,
    unfinished: Unfinished,
) {
    let end = AnswerEnd { withheld_tool_calls, reasoning: reasoning.to_owned(), unfinished };
    for length in [1, 3, usize::MAX] {
        assert_eq!(
            read(begin(), &tokenised(raw, length)),
            (visible.to_owned(), end.clone()),
            "{raw:?} by {length}"
        );
    }
}

fn tokenised(raw: &str, length: usize) -> Vec<Owned> {
    let mut pieces = Vec::new();
    let mut held = String::new();
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        let token = ControlToken::ALL.into_iter().find(|token| rest.starts_with(token.as_str()));
        if let Some(token) = token {
            if !held.is_empty() {
                pieces.push(Owned::Text(std::mem::take(&mut held)));
            }
            pieces.push(Owned::Control(token.as_str().to_owned()));
            rest = &rest[token.as_str().len()..];
            continue;
        }
        held.push(character);
        rest = &rest[character.len_utf8()..];
        if held.chars().count() >= length {
            pieces.push(Owned::Text(std::mem::take(&mut held)));
        }
    }
    if !held.is_empty() {
        pieces.push(Owned::Text(held));
    }
    pieces
}
