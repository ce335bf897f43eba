//! Memory and power of the machine: what a process holds, what is free, and what keeps the machine awake.
//!
//! This crate must not know of workers, requests or HTTP. Each trait has one implementation for the system it
//! runs on and a fake with values of one's own.

pub mod memory;
pub mod power;
