//! The server over real sockets, with the scripted worker behind it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod admin;
mod body;
mod chat;
mod client;
mod ending;
mod guard;
mod ident;
mod profiles;
mod receipts;
mod rig;
mod service;
mod state;
mod stream;
mod tools;
