//! From a model's output pieces to the answer a client may see.

use crate::ControlToken;

/// Longest channel name that is waited for, in characters.
const CHANNEL_NAME_LIMIT: usize = 32;
/// Channels whose text is part of the answer; any other holds reasoning.
const ANSWER_CHANNELS: [&str; 3] = ["final", "response", "answer"];

/// Output of the model, told apart by token and not by its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Ordinary text, whatever it spells.
    Text(&'a str),
    /// A control token by name.
    Control(&'a str),
}

/// Reads pieces and lets the visible text through.
///
/// Text is passed on at once; only the name of a channel is waited for. However the text is cut into pieces,
/// the visible text and the [`AnswerEnd`] are the same.
#[derive(Debug)]
pub struct Answer {
    place: Place,
    /// One entry a hidden channel; the last one grows.
    reasoning: Vec<String>,
    withheld_tool_calls: u32,
    ended: bool,
}

/// What is known once a model has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerEnd {
    /// Calls the model began although no tool was declared; their text was never shown.
    pub withheld_tool_calls: u32,
    /// Text of the hidden channels, without markers, names and surrounding newlines; a newline between two.
    pub reasoning: String,
    /// What was still open.
    pub unfinished: Unfinished,
}

/// What the model left open when it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Nothing: the visible text stands as it is.
    Nothing,
    /// The name of a channel; its characters are dropped.
    ChannelName,
    /// A hidden channel: there may be no answer because the model never came to it.
    Reasoning,
    /// A tool call.
    ToolCall,
}

#[derive(Debug)]
enum Place {
    Open(Channel),
    Name(String),
    ToolCall { within: Channel },
}

#[derive(Clone, Copy, Debug)]
enum Channel {
    Visible,
    Hidden,
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    /// An answer whose prompt ended by opening the model's turn.
    pub fn new() -> Self {
        Self {
            place: Place::Open(Channel::Visible),
            reasoning: Vec::new(),
            withheld_tool_calls: 0,
            ended: false,
        }
    }

    /// An answer whose prompt ended inside an open thought.
    pub fn inside_thought() -> Self {
        Self { place: Place::Open(Channel::Hidden), reasoning: vec![String::new()], ..Self::new() }
    }

    /// Takes the next piece and gives the text to send now, if any.
    pub fn push(&mut self, piece: Piece<'_>) -> Option<String> {
        if self.ended {
            return None;
        }
        match piece {
            Piece::Text(text) => self.text(text),
            Piece::Control(name) => {
                if let Some(token) = ControlToken::from_name(name) {
                    self.control(token);
                }
                None
            }
        }
    }

    /// Ends the answer.
    pub fn finish(self) -> AnswerEnd {
        let blocks: Vec<&str> = self
            .reasoning
            .iter()
            .map(|block| block.trim_matches('\n'))
            .filter(|block| !block.is_empty())
            .collect();
        AnswerEnd {
            withheld_tool_calls: self.withheld_tool_calls,
            reasoning: blocks.join("\n"),
            unfinished: match self.place {
                Place::Open(Channel::Visible) => Unfinished::Nothing,
                Place::Open(Channel::Hidden) => Unfinished::Reasoning,
                Place::Name(_) => Unfinished::ChannelName,
                Place::ToolCall { .. } => Unfinished::ToolCall,
            },
        }
    }

    fn text(&mut self, text: &str) -> Option<String> {
        let rest = match &mut self.place {
            Place::Name(name) => {
                let mut taken_bytes = 0;
                let mut complete = false;
                for character in text.chars() {
                    taken_bytes += character.len_utf8();
                    if character == '\n' {
                        complete = true;
                        break;
                    }
                    name.push(character);
                    if name.chars().count() > CHANNEL_NAME_LIMIT {
                        complete = true;
                        break;
                    }
                }
                if !complete {
                    return None;
                }
                self.enter_named();
                &text[taken_bytes..]
            }
            Place::Open(_) | Place::ToolCall { .. } => text,
        };
        match self.place {
            Place::Open(Channel::Visible) if !rest.is_empty() => Some(rest.to_owned()),
            Place::Open(Channel::Hidden) => {
                if let Some(block) = self.reasoning.last_mut() {
                    block.push_str(rest);
                }
                None
            }
            Place::Open(Channel::Visible) | Place::Name(_) | Place::ToolCall { .. } => None,
        }
    }

    fn control(&mut self, token: ControlToken) {
        match token {
            ControlToken::ChannelStart => self.place = Place::Name(String::new()),
            ControlToken::ChannelEnd => self.place = Place::Open(Channel::Visible),
            ControlToken::ToolCallStart => {
                self.withheld_tool_calls = self.withheld_tool_calls.saturating_add(1);
                if matches!(self.place, Place::Name(_)) {
                    self.enter_named();
                }
                if let Place::Open(within) = self.place {
                    self.place = Place::ToolCall { within };
                }
            }
            ControlToken::ToolCallEnd => {
                if let Place::ToolCall { within } = self.place {
                    self.place = Place::Open(within);
                }
            }
            ControlToken::Eos
            | ControlToken::TurnStart
            | ControlToken::TurnEnd
            | ControlToken::ToolResponseStart => self.ended = true,
            ControlToken::Bos
            | ControlToken::ToolStart
            | ControlToken::ToolEnd
            | ControlToken::ToolResponseEnd
            | ControlToken::Quote
            | ControlToken::Think => {}
        }
    }

    /// Goes from a channel's name into the channel. What is too long for a name was reasoning all along.
    fn enter_named(&mut self) {
        let Place::Name(name) = &mut self.place else {
            return;
        };
        let name = std::mem::take(name);
        if ANSWER_CHANNELS.contains(&name.trim()) {
            self.place = Place::Open(Channel::Visible);
            return;
        }
        let overlong = name.chars().count() > CHANNEL_NAME_LIMIT;
        self.reasoning.push(if overlong { name } else { String::new() });
        self.place = Place::Open(Channel::Hidden);
    }
}
