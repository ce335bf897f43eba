//! The `hangar` command: a thin hand on the rooms below it.

mod arguments;
mod ask;
mod bench;
mod check;
mod config;
mod detached;
mod failure;
mod place;
mod runtime;
mod say;
mod serve;
mod service;
mod state;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match carry_out(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            say::failure(&failure);
            ExitCode::FAILURE
        }
    }
}

fn carry_out(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(options) => serve::serve(&options),
        Command::Start(options) => on_one_thread(detached::start(&options)),
        Command::Stop => on_one_thread(detached::stop()),
        Command::Restart(options) => on_one_thread(detached::restart(&options)),
        Command::State(options) => state::state(&options),
        Command::Runtime(command) => runtime::runtime(&command),
        Command::Config(command) => config::config(&command),
        Command::Check(command) => on_one_thread(check::check(&command)),
        Command::Bench(command) => bench::bench(&command),
    }
}

fn on_one_thread(work: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(Failure::NoRuntime)?.block_on(work)
}
