//! From a conversation to groups of segments.

use crate::history::History;
use crate::{ControlToken, Message, Part, PastCall, Role, ToolDeclaration, declaration, lookalike};

/// What is to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The messages, oldest first.
    pub messages: &'a [Message],
    /// The tools the model may call.
    pub tools: &'a [ToolDeclaration],
    /// Whether the model thinks before it answers.
    pub thinking: Thinking,
}

/// What comes after an answer of the model, where everything up to that answer is there as state.
#[derive(Clone, Copy, Debug)]
pub struct Continuation<'a> {
    /// The calls that the answer made.
    pub calls: &'a [PastCall],
    /// What came since, oldest first.
    pub messages: &'a [Message],
    /// Whether the model thinks before it answers.
    pub thinking: Thinking,
}

/// Whether the model thinks before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// It is not asked to; how the small models are told.
    #[default]
    Off,
    /// It is not asked to, and is shown an empty thought; how the large models are told.
    OffByEmptyThought,
    /// It is asked to.
    On,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The opening, one group a message, and what opens the answer where something has to.
    pub groups: Vec<Group>,
    /// Where the answer begins.
    pub opening: Opening,
    /// How often the conversation's own text spells a control token; each is told to the model as characters.
    pub lookalikes: u32,
}

/// Where an answer begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// In the model's turn.
    #[default]
    Turn,
    /// Inside a thought that the prompt has opened.
    Thought,
}

/// The segments of one message; where a group ends, cached state may be cut.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Segments in order; no two texts stand side by side.
    pub segments: Vec<Segment>,
}

/// A stretch of prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// Literal text, never read as control tokens.
    Text(String),
    /// One control token.
    Control(ControlToken),
    /// The image with that index, with its markers.
    Image(u32),
    /// The audio clip with that index, with its markers.
    Audio(u32),
}

/// Why a conversation has no prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// There is nothing to answer.
    #[error("messages is empty: send at least one message")]
    NoMessages,
    /// Media stands where the model has only ever seen text.
    #[error("messages[{message}] is a {} message with media: move the media to a user message", word(*role))]
    MediaMisplaced {
        /// Index of the message.
        message: usize,
        /// Whose message it is.
        role: Role,
    },
    /// A tool's answer belongs to no call.
    #[error(
        "messages[{message}] answers no tool call: send it after the assistant message that made the call, with that call's id"
    )]
    OrphanResult {
        /// Index of the message.
        message: usize,
    },
    /// A tool's name cannot be written.
    #[error("tools[{tool}] has a name that cannot be used: send 1 to 64 letters, digits or any of _ - . : /")]
    ToolName {
        /// Index of the tool.
        tool: usize,
    },
    /// A tool's arguments are described by something else than an object.
    #[error("tools[{tool}].parameters is not a JSON object: send a schema of type object")]
    ParametersNotObject {
        /// Index of the tool.
        tool: usize,
    },
}

impl RenderError {
    /// The field of the request that is at fault.
    pub fn field(&self) -> String {
        match self {
            Self::NoMessages => "messages".to_owned(),
            Self::MediaMisplaced { message, .. } | Self::OrphanResult { message } => {
                format!("messages[{message}]")
            }
            Self::ToolName { tool } | Self::ParametersNotObject { tool } => format!("tools[{tool}]"),
        }
    }
}

/// Renders a conversation for the model to answer.
///
/// The first group holds `<bos>` and, with system messages, tools or thinking, the system turn; one group a
/// message follows; the last group opens the model's turn, and is missing where that turn is open already
/// because a tool has just answered. System messages at the head are joined by a blank line; a later one stays
/// where it is, as a turn of its own. Calls, tool answers and what follows them are one turn of the model.
/// Reasoning is repeated only behind the last user message. Text is trimmed as the model's own template trims
/// it, part by part, and is otherwise literal: a control token that a client spells out is characters.
///
/// # Errors
/// [`RenderError`] names the message or tool that cannot be rendered.
pub fn render(conversation: &Conversation<'_>) -> Result<Rendered, RenderError> {
    let messages = conversation.messages;
    if messages.is_empty() {
        return Err(RenderError::NoMessages);
    }
    let head = messages.iter().take_while(|message| message.role() == Role::System).count();
    let mut groups = Vec::with_capacity(messages.len() - head + 2);
    groups.push(opening(&messages[..head], conversation)?);
    let mut history = History::new(messages);
    for (index, message) in messages.iter().enumerate().skip(head) {
        groups.push(history.turn(index, message)?);
    }
    Ok(finish(groups, &history, conversation.thinking))
}

/// Renders what comes after an answer, from the end of that answer's last token on: the model's turn is closed
/// first, unless a tool answers within it.
///
/// # Errors
/// [`RenderError`] names the message that cannot be rendered.
pub fn render_more(continuation: &Continuation<'_>) -> Result<Rendered, RenderError> {
    let messages = continuation.messages;
    if messages.is_empty() {
        return Err(RenderError::NoMessages);
    }
    let mut history = History::after(continuation.calls, messages);
    let turn = |(index, message)| history.turn(index, message);
    let groups = messages.iter().enumerate().map(turn).collect::<Result<Vec<_>, _>>()?;
    Ok(finish(groups, &history, continuation.thinking))
}

fn finish(mut groups: Vec<Group>, history: &History<'_>, thinking: Thinking) -> Rendered {
    let (last, opening) = history.answer(thinking);
    groups.extend(last);
    let texts = groups.iter().flat_map(|group| &group.segments).filter_map(|segment| match segment {
        Segment::Text(text) => Some(lookalike::count(text)),
        Segment::Control(_) | Segment::Image(_) | Segment::Audio(_) => None,
    });
    let lookalikes = texts.fold(0, u32::saturating_add);
    Rendered { groups, opening, lookalikes }
}

/// Collects segments and joins neighbouring texts, so that they are tokenised as one.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    segments: Vec<Segment>,
}

impl Writer {
    pub(crate) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(Segment::Text(last)) = self.segments.last_mut() {
            last.push_str(text);
        } else {
            self.segments.push(Segment::Text(text.to_owned()));
        }
    }

    pub(crate) fn control(&mut self, token: ControlToken) {
        self.segments.push(Segment::Control(token));
    }

    /// Writes text trimmed, and media.
    pub(crate) fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.text(text.trim()),
            Part::Image(media) => self.segments.push(Segment::Image(*media)),
            Part::Audio(media) => self.segments.push(Segment::Audio(*media)),
        }
    }

    pub(crate) fn begin_turn(&mut self, name: &str) {
        self.control(ControlToken::TurnStart);
        self.text(name);
        self.text("\n");
    }

    pub(crate) fn end_turn(&mut self) {
        self.control(ControlToken::TurnEnd);
        self.text("\n");
    }

    pub(crate) fn group(self) -> Group {
        Group { segments: self.segments }
    }
}

/// Texts of a message that may hold nothing else, each trimmed.
pub(crate) fn texts_of(index: usize, message: &Message) -> Result<Vec<&str>, RenderError> {
    let parts = message.parts().iter().map(|part| match part {
        Part::Text(text) => Ok(text.trim()),
        Part::Image(_) | Part::Audio(_) => {
            Err(RenderError::MediaMisplaced { message: index, role: message.role() })
        }
    });
    parts.collect()
}

fn opening(system: &[Message], conversation: &Conversation<'_>) -> Result<Group, RenderError> {
    let mut writer = Writer::default();
    writer.control(ControlToken::Bos);
    let thinks = conversation.thinking == Thinking::On;
    if system.is_empty() && conversation.tools.is_empty() && !thinks {
        return Ok(writer.group());
    }
    writer.begin_turn("system");
    if thinks {
        writer.control(ControlToken::Think);
        writer.text("\n");
    }
    let mut texts = Vec::with_capacity(system.len());
    for (index, message) in system.iter().enumerate() {
        let text = texts_of(index, message)?.concat();
        if !text.is_empty() {
            texts.push(text);
        }
    }
    writer.text(&texts.join("\n\n"));
    for (index, tool) in conversation.tools.iter().enumerate() {
        declaration::write(&mut writer, index, tool)?;
    }
    writer.end_turn();
    Ok(writer.group())
}

fn word(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
