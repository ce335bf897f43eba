//! From a model's output pieces to the answer a client may see.

mod arguments;
mod call;
mod gate;
mod machine;
mod reasoning;
mod visible;

pub use gate::{Gate, ToolChoice};
pub use machine::Answer;

/// Output of the model, told apart by token and not by its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Ordinary text, whatever it spells.
    Text(&'a str),
    /// A control token by name.
    Control(&'a str),
}

/// What a client gets to know next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More of the answer; never empty.
    Text(String),
    /// More of the thinking; never empty.
    Reasoning(String),
    /// A whole tool call.
    Call(ToolCall),
}

impl Delta {
    /// The text of the answer, and nothing of the rest.
    pub fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Reasoning(_) | Self::Call(_) => None,
        }
    }
}

/// A call of a declared tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Its place among the calls of this answer, from 0.
    pub index: u32,
    /// Its id: letters and digits, at most 40.
    pub id: String,
    /// Name of the tool, as declared.
    pub name: String,
    /// A JSON object that fits the tool's declared types.
    pub arguments: String,
}

/// Makes the ids of an answer's calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallIds {
    stem: String,
}

impl CallIds {
    /// Ids that begin with these letters and digits; what makes them differ from another answer's ids.
    ///
    /// Anything else is left out, and so is what is longer than 26 characters.
    pub fn new(random: &str) -> Self {
        Self { stem: random.chars().filter(char::is_ascii_alphanumeric).take(26).collect() }
    }

    fn id(&self, index: u32) -> String {
        format!("call{}{index}", self.stem)
    }
}

/// Why the engine stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model ended its turn, or waits for a tool.
    Ended,
    /// A text came that the client had asked to stop at.
    StopText,
    /// No more tokens were allowed.
    Length,
}

/// Why the answer ended, as a client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// It is complete.
    Stop,
    /// The client is to run the calls.
    ToolCalls,
    /// It was cut off, whatever else is in it.
    Length,
}

/// What is known once a model has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerEnd {
    /// What was held back until now.
    pub deltas: Vec<Delta>,
    /// Why the answer ended.
    pub finish: Finish,
    /// Calls that were not passed on.
    pub withheld: Withheld,
    /// What was still open.
    pub unfinished: Unfinished,
}

/// Calls that the model began and a client never sees; each kind but the last two is told in the answer's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Of a tool that was not declared.
    pub undeclared: u32,
    /// Of a declared tool that this request does not allow.
    pub unwanted: u32,
    /// That cannot be read, or whose arguments cannot be made to fit the declared types.
    pub malformed: u32,
    /// Behind the first one, where the client takes no more than one.
    pub surplus: u32,
    /// Cut off by the limit of tokens or a stop text.
    pub cut: u32,
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
