//! What a conversation is made of before it is rendered.

use serde_json::Value;

/// One message of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in the order the client gave it.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message of text alone.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, parts: vec![Part::Text(text.into())] }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the operator; clients also call it developer.
    System,
    /// The person or client.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The word that stands after `<|turn>`.
    pub fn turn_name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "model",
        }
    }
}

/// A stretch of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Literal text.
    Text(String),
    /// The image with that index in the request's media.
    Image(u32),
    /// The audio clip with that index in the request's media.
    Audio(u32),
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// JSON schema of its arguments: an object, or null for a tool that declares none.
    pub parameters: Value,
}
