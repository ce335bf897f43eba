//! What a conversation is made of before it is rendered.

use serde_json::{Map, Value};

/// One message of a history.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Instructions of the operator; clients also call it developer.
    System {
        /// What is said, in the order the client gave it.
        parts: Vec<Part>,
    },
    /// What the person or client says.
    User {
        /// What is said, in the order the client gave it.
        parts: Vec<Part>,
    },
    /// What the model answered earlier.
    Assistant {
        /// The visible answer.
        parts: Vec<Part>,
        /// The thinking before it; empty where there was none or it was not kept.
        reasoning: String,
        /// The tools it called.
        calls: Vec<PastCall>,
    },
    /// What a tool gave back.
    Tool {
        /// Id of the call it answers; without one it answers the first call that is still open.
        call_id: Option<String>,
        /// What came back.
        parts: Vec<Part>,
    },
}

impl Message {
    /// A message of that role without calls, ids or reasoning.
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        match role {
            Role::System => Self::System { parts },
            Role::User => Self::User { parts },
            Role::Assistant => Self::Assistant { parts, reasoning: String::new(), calls: Vec::new() },
            Role::Tool => Self::Tool { call_id: None, parts },
        }
    }

    /// A message of text alone.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Part::Text(text.into())])
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self {
            Self::System { .. } => Role::System,
            Self::User { .. } => Role::User,
            Self::Assistant { .. } => Role::Assistant,
            Self::Tool { .. } => Role::Tool,
        }
    }

    /// What is said, to be changed.
    pub fn parts_mut(&mut self) -> &mut Vec<Part> {
        match self {
            Self::System { parts }
            | Self::User { parts }
            | Self::Assistant { parts, .. }
            | Self::Tool { parts, .. } => parts,
        }
    }

    /// What is said.
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::System { parts }
            | Self::User { parts }
            | Self::Assistant { parts, .. }
            | Self::Tool { parts, .. } => parts,
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The operator.
    System,
    /// The person or client.
    User,
    /// The model.
    Assistant,
    /// A tool the model called.
    Tool,
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

/// A call the model made in an earlier answer.
#[derive(Clone, Debug, PartialEq)]
pub struct PastCall {
    /// Its id, which a tool's answer refers to.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// What the tool was given.
    pub arguments: PastArguments,
}

/// Arguments of an earlier call.
#[derive(Clone, Debug, PartialEq)]
pub enum PastArguments {
    /// As they should be.
    Object(Map<String, Value>),
    /// Text that is no JSON object; it is shown to the model as it is, so that one broken call does not end a
    /// conversation.
    Opaque(String),
}

impl PastArguments {
    /// Reads arguments as clients send them: a JSON object in a string, where nothing and `null` mean none.
    pub fn read(text: &str) -> Self {
        if matches!(text.trim(), "" | "null") {
            return Self::Object(Map::new());
        }
        serde_json::from_str(text).map_or_else(|_| Self::Opaque(text.to_owned()), Self::Object)
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Its name: 1 to 64 letters, digits and `_ - . : /`.
    pub name: String,
    /// What it does; may be empty.
    pub description: String,
    /// JSON schema of its arguments: an object, or null for a tool that declares none.
    pub parameters: Value,
}
