//! The HTTP server: OpenAI-compatible API, admin routes and page, with the guard before all of them.
//!
//! This is the only crate that knows HTTP: nothing below it knows a status code. It must not know how a model
//! computes, or how a runtime is made. [`Host`] is the whole thing for one state folder; [`Server`] is the
//! routes alone, in process.

mod app;
mod body;
mod chat;
mod drones;
mod durable;
mod error;
mod flight;
mod guard;
mod holder;
mod host;
mod ident;
mod instance;
mod journal;
mod json;
mod launcher;
mod listen;
mod log;
mod media;
mod offer;
mod pace;
mod panel;
mod port;
mod receipts;
mod routes;
mod served;
mod server;
mod start;
mod switch;
mod tokens;
mod transcribe;
mod views;
mod workshop;

pub use error::{ApiError, ErrorCode};
pub use guard::{Asked, Policy, Refusal, check as guard_check};
pub use hangar_protocol::Phase;
pub use hangar_supervisor::StateWord;
pub use holder::{Holder, Process};
pub use host::{Host, HostError};
pub use instance::{Inspection, Instance, InstanceError, InstanceHint, inspect};
pub use journal::{Echo, Journal, JournalError};
pub use launcher::{RuntimeLauncher, limits, load_order};
pub use port::{FIRST_PORT, Listeners, PortError, open as open_listeners};
pub use served::{NoModel, Workshop};
pub use server::{Server, ServerBuilder, Wish};
pub use start::{Start, StartError, follow_signals, logs_dir, webview_dir};
pub use switch::Switch;
pub use views::{
    HostedBy, MemoryView, PanelSnapshot, ProfileView, QueueView, RequestsView, SERVICE, ServedState,
    ServedView, ServiceView, VERSION,
};
pub use workshop::model_dir;
