//! The menu-bar app: tray, panel window, launch at login. It hosts the server and shows the server's own page.
//!
//! It must not know how requests are answered. Without a display it is the server alone.

mod app;
mod controller;
mod desktop;
mod display;
#[cfg(test)]
#[path = "controller/fakes.rs"]
mod fakes;
mod focus;
mod headless;
mod links;
mod login;
mod panel;
mod say;
mod service;
mod tray;
mod tray_icon;
mod trouble;

use std::process::ExitCode;

use display::Face;
use hangar_server::{Echo, Journal, JournalError, Start};

/// Threads of the server: requests wait for the model, not for these.
const THREADS: usize = 2;
/// What is logged when the settings cannot be read.
const USUAL_LEVEL: &str = "info";
/// Said by the desktop when it starts the app at login.
const AT_LOGIN: &str = "--at-login";

fn main() -> ExitCode {
    let at_login = match at_login(std::env::args().skip(1)) {
        Ok(at_login) => at_login,
        Err(unknown) => {
            say::failure(&format!("unknown argument {unknown}"), Some("the app takes none"));
            return ExitCode::FAILURE;
        }
    };
    let start = Start::from_environment();
    let level = start.as_ref().map_or(USUAL_LEVEL, |start| start.log_level());
    let _journal = log(level, at_login);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            say::failure(
                &format!("the program's own runtime did not start: {error}"),
                Some("free some memory or raise the limits of this session"),
            );
            return ExitCode::FAILURE;
        }
    };
    match display::face(|name| std::env::var(name).ok(), display::answers) {
        Face::Headless(why) => headless::run(&runtime, start, &why),
        Face::Window => app::run(&runtime, at_login),
    }
}

/// Logs to files, and to the terminal the app was started from. What cannot be honoured is said and does not
/// keep the app from starting.
fn log(level: &str, at_login: bool) -> Option<Journal> {
    let echo = if at_login { Echo::Nowhere } else { Echo::Terminal };
    let folder = hangar_server::logs_dir();
    let begun = match Journal::begin(level, folder.as_deref(), echo) {
        Err(error @ JournalError::Filter { .. }) => {
            say::failure(&error.to_string(), Some(error.cure()));
            Journal::begin(USUAL_LEVEL, folder.as_deref(), echo)
        }
        begun => begun,
    };
    match begun {
        Ok(journal) => Some(journal),
        Err(error) => {
            say::failure(&error.to_string(), Some(error.cure()));
            Journal::begin(USUAL_LEVEL, None, echo).ok()
        }
    }
}

fn at_login(arguments: impl Iterator<Item = String>) -> Result<bool, String> {
    let mut found = false;
    for argument in arguments {
        // Older macOS gives a program that is opened from the Finder a process serial number.
        if argument == AT_LOGIN {
            found = true;
        } else if !argument.starts_with("-psn_") {
            return Err(argument);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[&str]) -> Result<bool, String> {
        at_login(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn the_app_takes_no_arguments_but_its_own() {
        assert_eq!(said(&[]), Ok(false));
        assert_eq!(said(&["--at-login"]), Ok(true));
        assert_eq!(said(&["-psn_0_12345"]), Ok(false));
        assert_eq!(said(&["serve"]), Err("serve".to_owned()));
    }
}
