//! Gemma 4 markup, both ways and without IO.
//!
//! Towards the model, [`render`] turns a history and its tools into groups of segments, where a control token
//! is named and everything a person or client wrote is literal text: `<|turn>` typed by a user stays eight
//! characters. From the model, [`Answer`] turns typed pieces into the text a client may see.

mod answer;
mod declaration;
mod message;
mod render;
mod token;

pub use answer::{Answer, AnswerEnd, Piece, Unfinished};
pub use message::{Message, Part, Role, ToolDeclaration};
pub use render::{Group, RenderError, Segment, render};
pub use token::ControlToken;
