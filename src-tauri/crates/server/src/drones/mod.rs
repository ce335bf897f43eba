//! SI Drones: short-lived sessions whose state stays hot in a worker between turns.
//!
//! A turn sends only what is new; the worker goes on from the state it kept at the end of the turn before. The
//! state of every turn stays until the session ends, so that a session can be rolled back or forked, and a turn
//! that fails leaves it as it was.

mod answer;
mod drone;
mod error;
mod parts;
mod policy;
mod routes;
mod store;
mod table;
mod turn;
mod view;

pub(crate) use error::DroneError;
pub(crate) use routes::routes;
pub(crate) use store::Drones;
