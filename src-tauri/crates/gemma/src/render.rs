//! From a history to groups of segments.

use crate::{ControlToken, Message, Part, Role, ToolDeclaration, declaration};

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

/// Why a history has no prompt.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RenderError {
    /// There is nothing to answer.
    #[error("messages is empty: send at least one message")]
    NoMessages,
    /// Media stands where the model has only ever seen text.
    #[error("messages[{message}] is a system message with media: move the media to a user message")]
    MediaInSystem {
        /// Index of the message.
        message: usize,
    },
    /// A tool's arguments are described by something else than an object.
    #[error("tools[{tool}].parameters is not a JSON object: send a schema of type object")]
    ParametersNotObject {
        /// Index of the tool.
        tool: usize,
    },
    /// A schema is nested beyond reason.
    #[error("tools[{tool}].parameters is nested over {limit} levels: flatten the schema")]
    SchemaTooDeep {
        /// Index of the tool.
        tool: usize,
        /// Levels allowed.
        limit: usize,
    },
}

/// Renders a history for the model to answer.
///
/// The first group holds `<bos>` and, with system messages or tools, the system turn; one group a message
/// follows; the last group opens the model's turn. System messages at the head of the history are joined by a
/// blank line; a later one stays where it is, as a turn of its own. Text is trimmed as the model's own template
/// trims it, part by part, and is otherwise literal: thinking that a client spells out in an earlier answer
/// is kept as the characters it consists of.
///
/// # Errors
/// [`RenderError`] names the message or tool that cannot be rendered.
pub fn render(messages: &[Message], tools: &[ToolDeclaration]) -> Result<Vec<Group>, RenderError> {
    if messages.is_empty() {
        return Err(RenderError::NoMessages);
    }
    let head = messages.iter().take_while(|message| message.role == Role::System).count();
    let mut groups = Vec::with_capacity(messages.len() - head + 2);
    groups.push(opening(&messages[..head], tools)?);
    for (index, message) in messages.iter().enumerate().skip(head) {
        groups.push(turn(index, message)?);
    }
    let mut header = Writer::default();
    header.control(ControlToken::TurnStart);
    header.text(Role::Assistant.turn_name());
    header.text("\n");
    groups.push(header.group());
    Ok(groups)
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

    pub(crate) fn quoted(&mut self, text: &str) {
        self.control(ControlToken::Quote);
        self.text(text);
        self.control(ControlToken::Quote);
    }

    pub(crate) fn group(self) -> Group {
        Group { segments: self.segments }
    }
}

fn opening(system: &[Message], tools: &[ToolDeclaration]) -> Result<Group, RenderError> {
    let mut writer = Writer::default();
    writer.control(ControlToken::Bos);
    if system.is_empty() && tools.is_empty() {
        return Ok(writer.group());
    }
    writer.control(ControlToken::TurnStart);
    writer.text(Role::System.turn_name());
    writer.text("\n");
    let mut texts = Vec::with_capacity(system.len());
    for (index, message) in system.iter().enumerate() {
        let text = system_text(index, message)?;
        if !text.is_empty() {
            texts.push(text);
        }
    }
    writer.text(&texts.join("\n\n"));
    for (index, tool) in tools.iter().enumerate() {
        declaration::write(&mut writer, index, tool)?;
    }
    end_turn(&mut writer);
    Ok(writer.group())
}

fn turn(index: usize, message: &Message) -> Result<Group, RenderError> {
    let mut writer = Writer::default();
    writer.control(ControlToken::TurnStart);
    writer.text(message.role.turn_name());
    writer.text("\n");
    match message.role {
        Role::System => writer.text(&system_text(index, message)?),
        Role::User | Role::Assistant => {
            for part in &message.parts {
                match part {
                    Part::Text(text) => writer.text(text.trim()),
                    Part::Image(media) => writer.segments.push(Segment::Image(*media)),
                    Part::Audio(media) => writer.segments.push(Segment::Audio(*media)),
                }
            }
        }
    }
    end_turn(&mut writer);
    Ok(writer.group())
}

fn end_turn(writer: &mut Writer) {
    writer.control(ControlToken::TurnEnd);
    writer.text("\n");
}

fn system_text(index: usize, message: &Message) -> Result<String, RenderError> {
    let mut joined = String::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => joined.push_str(text.trim()),
            Part::Image(_) | Part::Audio(_) => return Err(RenderError::MediaInSystem { message: index }),
        }
    }
    Ok(joined)
}
