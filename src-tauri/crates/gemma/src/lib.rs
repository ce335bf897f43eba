//! Gemma 4 markup, both ways and without IO.
//!
//! Towards the model, [`render`] turns a conversation into groups of segments, where a control token is named
//! and everything a person or client wrote is literal text: `<|turn>` typed by a user stays eight characters.
//! From the model, [`Answer`] turns typed pieces into text, reasoning and tool calls that a client may see.

mod answer;
mod declaration;
mod history;
mod lookalike;
mod message;
mod notation;
mod render;
mod schema;
mod token;

pub use answer::{
    Answer, AnswerEnd, CallIds, Delta, Finish, Gate, Piece, Stop, ToolCall, ToolChoice, Unfinished, Withheld,
};
pub use message::{Message, Part, PastArguments, PastCall, Role, ToolDeclaration};
pub use render::{
    Continuation, Conversation, Group, Opening, RenderError, Rendered, Segment, Thinking, render, render_more,
};
pub use token::ControlToken;
