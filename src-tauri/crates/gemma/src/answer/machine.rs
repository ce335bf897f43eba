//! The machine that reads pieces.

use super::call::CallText;
use super::gate::Verdict;
use super::reasoning::Reasoning;
use super::visible::Visible;
use super::{
    AnswerEnd, CallIds, Delta, Finish, Gate, Piece, Stop, ToolCall, Unfinished, Withheld, arguments,
};
use crate::{ControlToken, Opening};

/// Longest channel name that is waited for, in characters.
const CHANNEL_NAME_LIMIT: usize = 32;
/// Channels whose text is part of the answer; any other holds reasoning.
const ANSWER_CHANNELS: [&str; 3] = ["final", "response", "answer"];
/// Longest stretch of a name that is repeated to a client, in characters.
const TOLD_NAME_LIMIT: usize = 64;
/// Tools that are named in notices; more are counted only.
const NOTICE_LIMIT: usize = 8;

/// Reads pieces and gives what a client may see.
///
/// Text is passed on at once, but for the name of a channel and what may be the beginning of a marker; a call is
/// passed on when it is whole. However the text is cut into pieces, what is passed on and the [`AnswerEnd`] are
/// the same, but for where one piece of text or reasoning ends and the next begins.
#[derive(Debug)]
pub struct Answer {
    gate: Gate,
    ids: CallIds,
    place: Place,
    visible: Visible,
    reasoning: Reasoning,
    calls: u32,
    withheld: Withheld,
    noticed: Vec<String>,
    has_ended: bool,
}

#[derive(Debug)]
enum Place {
    Open(Channel),
    Name(String),
    Call { within: Channel, call: CallText },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Channel {
    Visible,
    Hidden,
}

impl Default for Answer {
    /// An answer in the model's turn that may call nothing.
    fn default() -> Self {
        Self::new(Opening::Turn, Gate::default(), CallIds::default())
    }
}

impl Answer {
    /// An answer to a prompt that ended there, whose calls pass this gate.
    pub fn new(opening: Opening, gate: Gate, ids: CallIds) -> Self {
        let channel = match opening {
            Opening::Turn => Channel::Visible,
            Opening::Thought => Channel::Hidden,
        };
        Self {
            gate,
            ids,
            place: Place::Open(channel),
            visible: Visible::default(),
            reasoning: Reasoning::default(),
            calls: 0,
            withheld: Withheld::default(),
            noticed: Vec::new(),
            has_ended: false,
        }
    }

    /// Takes the next piece and gives what to tell now.
    pub fn push(&mut self, piece: Piece<'_>) -> Vec<Delta> {
        let mut deltas = Vec::new();
        if !self.has_ended {
            match piece {
                Piece::Text(text) => self.text(text, &mut deltas),
                Piece::Control(name) => self.control(name, &mut deltas),
            }
        }
        deltas
    }

    /// Whether the model is inside a thought or a channel's name: what comes next is not for the answer.
    pub fn is_thinking(&self) -> bool {
        match &self.place {
            Place::Name(_) => true,
            Place::Open(channel) | Place::Call { within: channel, .. } => *channel == Channel::Hidden,
        }
    }

    /// Whether what comes next is text of the answer.
    pub fn is_answering(&self) -> bool {
        matches!(self.place, Place::Open(Channel::Visible)) && !self.has_ended
    }

    /// Ends the answer: a call that is whole but for its end marker is passed on only if the model stopped by
    /// itself.
    pub fn finish(mut self, stop: Stop) -> AnswerEnd {
        let mut deltas = Vec::new();
        let unfinished = match &self.place {
            Place::Open(Channel::Visible) => Unfinished::Nothing,
            Place::Open(Channel::Hidden) => Unfinished::Reasoning,
            Place::Name(_) => Unfinished::ChannelName,
            Place::Call { .. } => Unfinished::ToolCall,
        };
        match stop {
            Stop::Ended => {
                deltas.extend(self.visible.flush().map(Delta::Text));
                self.end_call(&mut deltas);
            }
            Stop::StopText => deltas.extend(self.visible.flush().map(Delta::Text)),
            Stop::Length => deltas.extend(self.visible.flush_cut().map(Delta::Text)),
        }
        if matches!(self.place, Place::Call { .. }) {
            self.withheld.cut += 1;
        }
        let finish = match stop {
            Stop::Length => Finish::Length,
            Stop::Ended | Stop::StopText if self.calls > 0 => Finish::ToolCalls,
            Stop::Ended | Stop::StopText => Finish::Stop,
        };
        AnswerEnd { deltas, finish, withheld: self.withheld, unfinished }
    }

    fn text(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        let mut rest = text;
        if let Place::Name(name) = &mut self.place {
            let mut is_complete = false;
            while let Some(character) = rest.chars().next() {
                rest = &rest[character.len_utf8()..];
                if character != '\n' {
                    name.push(character);
                }
                if character == '\n' || name.chars().count() > CHANNEL_NAME_LIMIT {
                    is_complete = true;
                    break;
                }
            }
            if !is_complete {
                return;
            }
            self.enter_named(deltas);
        }
        match &mut self.place {
            Place::Open(Channel::Visible) => deltas.extend(self.visible.push(rest).map(Delta::Text)),
            Place::Open(Channel::Hidden) => deltas.extend(self.reasoning.push(rest).map(Delta::Reasoning)),
            Place::Call { call, .. } => call.push(rest),
            Place::Name(_) => {}
        }
    }

    fn control(&mut self, name: &str, deltas: &mut Vec<Delta>) {
        let token = ControlToken::from_name(name);
        if let Place::Call { call, .. } = &mut self.place
            && call.is_in_string()
            && !token.is_some_and(ends_in_string)
        {
            // The model wrote about the token rather than using it.
            call.push(name);
            return;
        }
        let Some(token) = token else {
            return;
        };
        deltas.extend(self.visible.flush().map(Delta::Text));
        match token {
            ControlToken::ChannelStart => {
                self.end_call(deltas);
                self.place = Place::Name(String::new());
            }
            ControlToken::ChannelEnd => {
                self.end_call(deltas);
                self.place = Place::Open(Channel::Visible);
            }
            ControlToken::ToolCallStart => {
                self.end_call(deltas);
                if matches!(self.place, Place::Name(_)) {
                    self.enter_named(deltas);
                }
                if let Place::Open(within) = self.place {
                    self.place = Place::Call { within, call: CallText::default() };
                }
            }
            ControlToken::ToolCallEnd => self.end_call(deltas),
            ControlToken::Quote => {
                if let Place::Call { call, .. } = &mut self.place {
                    call.push_quote();
                }
            }
            ControlToken::Eos
            | ControlToken::TurnStart
            | ControlToken::TurnEnd
            | ControlToken::ToolResponseStart => self.has_ended = true,
            ControlToken::Bos
            | ControlToken::ToolStart
            | ControlToken::ToolEnd
            | ControlToken::ToolResponseEnd
            | ControlToken::Think => {}
        }
    }

    /// Goes from a channel's name into the channel. What is too long for a name was reasoning all along.
    fn enter_named(&mut self, deltas: &mut Vec<Delta>) {
        let Place::Name(name) = &mut self.place else {
            return;
        };
        let name = std::mem::take(name);
        if ANSWER_CHANNELS.contains(&name.trim()) {
            self.place = Place::Open(Channel::Visible);
            return;
        }
        self.place = Place::Open(Channel::Hidden);
        self.reasoning.begin_block();
        if name.chars().count() > CHANNEL_NAME_LIMIT {
            deltas.extend(self.reasoning.push(&name).map(Delta::Reasoning));
        }
    }

    /// Ends the call that is open, if one is, and passes it on if it may be seen.
    fn end_call(&mut self, deltas: &mut Vec<Delta>) {
        let Place::Call { within, call } = &mut self.place else {
            return;
        };
        let (within, call) = (*within, std::mem::take(call));
        self.place = Place::Open(within);
        let read = call.read();
        let name = read.as_ref().map_or(call.name(), |read| read.name.as_str());
        let told = told_name(name);
        let tool = match self.gate.judge(name) {
            Verdict::Admitted(tool) => tool,
            Verdict::Undeclared => {
                self.withheld.undeclared += 1;
                let what = "which is not among the declared tools";
                return self.notice(&told, &format!("The model called the tool {told}, {what}."), deltas);
            }
            Verdict::Unwanted(_) => {
                self.withheld.unwanted += 1;
                let what = "which this request does not allow";
                return self.notice(&told, &format!("The model called the tool {told}, {what}."), deltas);
            }
        };
        let written = read.map(|read| arguments::write(tool, read.arguments));
        let arguments = match written {
            Some(Ok(arguments)) => arguments,
            Some(Err(path)) => {
                self.withheld.malformed += 1;
                let sentence = format!(
                    "The model called the tool {told} with a value for {} that is not of the declared type.",
                    told_name(&path)
                );
                return self.notice(&told, &sentence, deltas);
            }
            None => {
                self.withheld.malformed += 1;
                let sentence = format!("The model called the tool {told} in a form that cannot be read.");
                return self.notice(&told, &sentence, deltas);
            }
        };
        if self.gate.one_call && self.calls > 0 {
            self.withheld.surplus += 1;
            return;
        }
        let index = self.calls;
        self.calls += 1;
        let name = tool.name.clone();
        deltas.push(Delta::Call(ToolCall { index, id: self.ids.id(index), name, arguments }));
    }

    /// Tells in the answer why a call is missing, once for each tool.
    fn notice(&mut self, name: &str, sentence: &str, deltas: &mut Vec<Delta>) {
        if self.noticed.len() < NOTICE_LIMIT && !self.noticed.iter().any(|known| known == name) {
            self.noticed.push(name.to_owned());
            let text = self.visible.notice(&format!("[{sentence} The call was left out.]"));
            deltas.push(Delta::Text(text));
        }
    }
}

/// Tokens after which nothing more is generated, wherever they stand.
fn ends_in_string(token: ControlToken) -> bool {
    matches!(
        token,
        ControlToken::Quote | ControlToken::Eos | ControlToken::TurnEnd | ControlToken::ToolResponseStart
    )
}

/// A name the model made up, without anything that could be taken for markup.
fn told_name(name: &str) -> String {
    let plain = |each: &char| each.is_alphanumeric() || "_-.:/".contains(*each);
    let told: String = name.chars().filter(plain).take(TOLD_NAME_LIMIT).collect();
    if told.is_empty() { "without a name".to_owned() } else { told }
}
