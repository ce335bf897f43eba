//! The supervisor over real pipes, processes and signals, with the scripted worker.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod faults;
mod life;
mod machine;
mod rig;
mod waiting;
mod watchdog;
