//! Other programs, run to their end within a time, each way of failing kept apart.

use std::io::{self, BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "this crate blocks and knows no async clock")]
use std::time::Instant;

use crate::ProvisionError;

const TICK: Duration = Duration::from_millis(10);
/// How long output is awaited after the end of a program whose own children keep its pipes open.
const TICKS_AFTER_EXIT: u32 = 50;
const STDOUT_LIMIT_BYTES: u64 = 8 * 1024 * 1024;
const LINES_KEPT: usize = 20;

/// A program that ended by itself.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// The last lines of its standard error.
    pub(crate) said: String,
}

impl Ended {
    /// How it ended, in words.
    pub(crate) fn status_text(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => self.status.to_string(),
        }
    }

    /// The last lines of both outputs, for installers that complain on either.
    pub(crate) fn said_anywhere(&self) -> String {
        let stdout = String::from_utf8_lossy(&self.stdout);
        let mut lines: Vec<&str> = stdout.lines().chain(self.said.lines()).collect();
        lines.drain(..lines.len().saturating_sub(LINES_KEPT));
        lines.join("\n")
    }
}

/// Runs a command to its end. Lines of its standard error are handed on as they come.
pub(crate) fn run(
    command: &mut Command,
    limit: Option<Duration>,
    on_line: &mut dyn FnMut(&str),
) -> Result<Ended, ProvisionError> {
    let program = std::path::PathBuf::from(command.get_program());
    let not_started = |source: io::Error| {
        let program = program.clone();
        if source.kind() == io::ErrorKind::NotFound {
            ProvisionError::ProgramMissing { program }
        } else if source.kind() == io::ErrorKind::PermissionDenied {
            ProvisionError::ProgramForbidden { program }
        } else {
            ProvisionError::ProgramNotStarted { program, source }
        }
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started)?;
    let watched = watch(&mut child, limit, on_line);
    if !matches!(watched, Ok(Some(_))) {
        // Nobody will wait for it otherwise; both calls fail only when it has already ended.
        child.kill().ok();
        child.wait().ok();
    }
    match watched {
        Ok(Some(ended)) => Ok(ended),
        Ok(None) => {
            Err(ProvisionError::ProgramTimedOut { program, limit_ms: limit.unwrap_or_default().as_millis() })
        }
        Err(source) => Err(ProvisionError::ProgramNotStarted { program, source }),
    }
}

enum Heard {
    Line(String),
    Output(Vec<u8>),
    ErrorsEnded,
}

/// Waits for the end and the output of a child; nothing when the time ran out.
fn watch(
    child: &mut Child,
    limit: Option<Duration>,
    on_line: &mut dyn FnMut(&str),
) -> io::Result<Option<Ended>> {
    #[expect(clippy::disallowed_types, reason = "this crate blocks and knows no async clock")]
    let started = Instant::now();
    // This end stays open, so that waiting for a message always waits.
    let (sender, heard) = mpsc::channel();
    listen(child, &sender);
    let (mut stdout, mut errors_ended, mut ticks_after_exit) = (None, false, 0);
    let mut lines: Vec<String> = Vec::new();
    loop {
        match heard.recv_timeout(TICK) {
            Ok(Heard::Line(line)) => {
                on_line(&line);
                lines.push(line);
                lines.drain(..lines.len().saturating_sub(LINES_KEPT));
                continue;
            }
            Ok(Heard::Output(bytes)) => stdout = Some(bytes),
            Ok(Heard::ErrorsEnded) => errors_ended = true,
            Err(_) => (),
        }
        if let Some(status) = child.try_wait()? {
            ticks_after_exit += 1;
            if (stdout.is_some() && errors_ended) || ticks_after_exit > TICKS_AFTER_EXIT {
                let stdout = stdout.unwrap_or_default();
                return Ok(Some(Ended { status, stdout, said: lines.join("\n") }));
            }
        } else if limit.is_some_and(|limit| started.elapsed() >= limit) {
            return Ok(None);
        }
    }
}

/// Reads both outputs on threads of their own; a program blocks when nobody does.
fn listen(child: &mut Child, sender: &Sender<Heard>) {
    if let Some(mut stdout) = child.stdout.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.by_ref().take(STDOUT_LIMIT_BYTES).read_to_end(&mut bytes).ok();
            io::copy(&mut stdout, &mut io::sink()).ok();
            sender.send(Heard::Output(bytes)).ok();
        });
    }
    if let Some(stderr) = child.stderr.take() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).split(b'\n') {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !line.is_empty() && sender.send(Heard::Line(line)).is_err() {
                    return;
                }
            }
            sender.send(Heard::ErrorsEnded).ok();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_kept_and_lines_handed_on() {
        let mut seen = Vec::new();
        let mut note = |line: &str| seen.push(line.to_owned());
        let ended = run(&mut shell("echo one >&2; echo out; echo two >&2; exit 3"), None, &mut note).unwrap();
        assert_eq!((ended.stdout.as_slice(), ended.said.as_str()), (b"out\n".as_slice(), "one\ntwo"));
        assert_eq!(ended.status_text(), "exit status 3");
        assert_eq!(seen, ["one", "two"]);
    }

    #[test]
    fn a_killed_program_says_its_signal() {
        let ended = run(&mut shell("kill -9 $$"), None, &mut |_| ()).unwrap();
        assert_eq!(ended.status_text(), "signal 9");
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let ended = run(&mut shell("head -c 1000000 /dev/zero; echo end >&2"), None, &mut |_| ()).unwrap();
        assert_eq!((ended.stdout.len(), ended.said.as_str()), (1_000_000, "end"));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let error =
            run(&mut shell("exec sleep 60"), Some(Duration::from_millis(50)), &mut |_| ()).err().unwrap();
        assert!(matches!(error, ProvisionError::ProgramTimedOut { limit_ms: 50, .. }), "{error}");
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipes_does_not_keep_us() {
        let ended =
            run(&mut shell("sleep 20 & echo out"), Some(Duration::from_secs(10)), &mut |_| ()).unwrap();
        assert!(ended.status.success());
    }

    #[test]
    fn a_missing_and_a_forbidden_program_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        let run_it = || run(&mut Command::new(&file), None, &mut |_| ()).err().unwrap();
        assert!(matches!(run_it(), ProvisionError::ProgramMissing { .. }));
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(run_it(), ProvisionError::ProgramForbidden { .. }));
    }
}
