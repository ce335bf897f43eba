//! Reads raw markup as a tokenizer would and cuts it in many ways.

use hangar_gemma::{
    Answer, AnswerEnd, CallIds, ControlToken, Delta, Gate, Opening, Piece, Stop, ToolDeclaration,
};
use serde_json::{Value, json};

/// A piece that owns its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    Text(String),
    Control(String),
}

/// What a client has in the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub text: String,
    pub reasoning: String,
    /// Names and arguments, which every strict reader can read.
    pub calls: Vec<(String, Value)>,
    pub ids: Vec<String>,
    pub end: AnswerEnd,
}

/// A tool that declares no types.
pub fn tool(name: &str) -> ToolDeclaration {
    typed(name, json!({ "type": "object" }))
}

/// A tool with this schema.
pub fn typed(name: &str, parameters: Value) -> ToolDeclaration {
    ToolDeclaration { name: name.to_owned(), description: String::new(), parameters }
}

/// A gate for these tools.
pub fn gate(names: &[&str]) -> Gate {
    Gate { tools: names.iter().map(|name| tool(name)).collect(), ..Gate::default() }
}

/// Reads pieces to the end.
pub fn read(opening: Opening, gate: Gate, pieces: &[Owned], stop: Stop) -> Seen {
    let mut answer = Answer::new(opening, gate, CallIds::new("Zz09"));
    let mut seen = Seen {
        text: String::new(),
        reasoning: String::new(),
        calls: vec![],
        ids: vec![],
        end: end_of_nothing(),
    };
    for piece in pieces {
        let deltas = answer.push(match piece {
            Owned::Text(text) => Piece::Text(text),
            Owned::Control(name) => Piece::Control(name),
        });
        take(&mut seen, deltas);
    }
    let mut end = answer.finish(stop);
    take(&mut seen, std::mem::take(&mut end.deltas));
    seen.end = end;
    seen
}

fn end_of_nothing() -> AnswerEnd {
    Answer::default().finish(Stop::Ended)
}

fn take(seen: &mut Seen, deltas: Vec<Delta>) {
    for delta in deltas {
        match delta {
            Delta::Text(text) => {
                assert!(!text.is_empty(), "empty text was passed on");
                seen.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                assert!(!text.is_empty(), "empty reasoning was passed on");
                seen.reasoning.push_str(&text);
            }
            Delta::Call(call) => {
                assert_eq!(call.index as usize, seen.calls.len(), "indexes rise by one");
                let arguments: Value = serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|error| panic!("{} is no JSON: {error}", call.arguments));
                assert!(arguments.is_object());
                assert!(!call.id.is_empty() && call.id.len() <= 40);
                assert!(call.id.chars().all(|each| each.is_ascii_alphanumeric()));
                assert!(!seen.ids.contains(&call.id));
                seen.calls.push((call.name, arguments));
                seen.ids.push(call.id);
            }
        }
    }
}

/// Reads raw markup cut in many ways and gives the one result.
pub fn every_cut(opening: Opening, gate: &Gate, raw: &str, stop: Stop) -> Seen {
    let whole = read(opening, gate.clone(), &tokenised(raw, |_| false), stop);
    let length = raw.chars().count();
    for size in 1..=8 {
        let seen = read(opening, gate.clone(), &tokenised(raw, |at| at % size == 0), stop);
        assert_eq!(seen, whole, "{raw:?} in pieces of {size}");
    }
    for place in 0..=length {
        let seen = read(opening, gate.clone(), &tokenised(raw, |at| at == place), stop);
        assert_eq!(seen, whole, "{raw:?} cut at {place}");
    }
    // Ways of cutting that differ at every place, from a fixed sequence.
    let mut state = 0x9e37_79b9_u32;
    for _ in 0..64 {
        let cuts: Vec<bool> = (0..=length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state >> 31 == 1
            })
            .collect();
        let seen = read(opening, gate.clone(), &tokenised(raw, |at| cuts[at]), stop);
        assert_eq!(seen, whole, "{raw:?} cut by {cuts:?}");
    }
    whole
}

/// Reads an answer in the model's turn that ended by itself.
pub fn answer(gate: &Gate, raw: &str) -> Seen {
    every_cut(Opening::Turn, gate, raw, Stop::Ended)
}

/// Splits raw markup at control tokens, and text where `cut` says so of its place in characters.
pub fn tokenised(raw: &str, cut: impl Fn(usize) -> bool) -> Vec<Owned> {
    let mut pieces = Vec::new();
    let mut held = String::new();
    let (mut rest, mut at) = (raw, 0);
    while let Some(character) = rest.chars().next() {
        if cut(at) && !held.is_empty() {
            pieces.push(Owned::Text(std::mem::take(&mut held)));
        }
        let name =
            ControlToken::ALL.into_iter().map(ControlToken::as_str).find(|name| rest.starts_with(name));
        let taken = name.map_or(character.len_utf8(), str::len);
        match name {
            Some(name) => {
                if !held.is_empty() {
                    pieces.push(Owned::Text(std::mem::take(&mut held)));
                }
                pieces.push(Owned::Control(name.to_owned()));
            }
            None => held.push(character),
        }
        at += rest[..taken].chars().count();
        rest = &rest[taken..];
    }
    if !held.is_empty() {
        pieces.push(Owned::Text(held));
    }
    pieces
}
