//! `hangar start`, `stop` and `restart`: a server that outlives its terminal.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use hangar_config::Home;
use hangar_server::{Inspection, InstanceHint, inspect};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use crate::arguments::Start;
use crate::failure::Failure;
use crate::{ask, place, say};

const START_LIMIT: Duration = Duration::from_secs(20);
/// Draining takes up to ten seconds, ending a worker that will not let go a few more.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// A server that has just begun says who it is within this time.
const NAME_LIMIT: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// A log over this size is put aside at the next start.
const LOG_BYTES: u64 = 10 * 1024 * 1024;
/// Most of the log that is shown after a failed start.
const LAST_WORDS_BYTES: u64 = 4096;

/// Starts a server in the background, unless one runs.
pub(crate) async fn start(options: &Start) -> Result<ExitCode, Failure> {
    let home = place::home()?;
    home.prepare()?;
    if let Some(hint) = running(&home).await? {
        say::line(&format!("Hangar is already running on {} (process {})", hint.url, hint.pid));
        return Ok(ExitCode::SUCCESS);
    }
    // What can be said here is said here, not in a log.
    place::settings(&home)?;
    let log = home.logs_dir().join("server.log");
    let (file, begin) = open_log(&log)?;
    let failed = |source| Failure::File { action: "started", path: PathBuf::from("hangar"), source };
    let twin = file.try_clone().map_err(failed)?;
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(["serve", "--detached"]).stdin(Stdio::null()).stdout(file).stderr(twin);
    if let Some(port) = options.port {
        command.args(["--port", &port.to_string()]);
    }
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + START_LIMIT;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().map_err(failed)? {
            let last_words = last_words(&log, begin);
            return Err(Failure::StartFailed { status: status.to_string(), last_words, log });
        }
        if let Inspection::Served(Some(hint)) = inspect(&home)?
            && hint.pid == child.id()
            && ask::is_healthy(&hint.url)
        {
            say::line(&format!("Hangar is listening on {}", hint.url));
            return Ok(ExitCode::SUCCESS);
        }
        sleep(LOOK_EVERY).await;
    }
    Err(Failure::StartTimedOut { limit_s: START_LIMIT.as_secs(), log })
}

/// Ends the server of this state folder, if one runs.
pub(crate) async fn stop() -> Result<ExitCode, Failure> {
    let home = place::home()?;
    let Some(hint) = running(&home).await? else {
        say::line("Hangar is not running");
        return Ok(ExitCode::SUCCESS);
    };
    tell_to_end(hint.pid)?;
    let until = Instant::now() + STOP_LIMIT;
    while Instant::now() < until {
        match inspect(&home)? {
            Inspection::Free => {
                say::line("Hangar has stopped");
                return Ok(ExitCode::SUCCESS);
            }
            // Somebody else started one already.
            Inspection::Served(Some(now)) if now.pid != hint.pid => {
                say::line("Hangar has stopped");
                return Ok(ExitCode::SUCCESS);
            }
            Inspection::Served(_) => sleep(LOOK_EVERY).await,
        }
    }
    Err(Failure::StopTimedOut { pid: hint.pid, limit_s: STOP_LIMIT.as_secs() })
}

/// Stops, then starts.
pub(crate) async fn restart(options: &Start) -> Result<ExitCode, Failure> {
    stop().await?;
    start(options).await
}

/// The server that holds the lock. Its hint is believed only because the lock is held: whoever takes the lock
/// removes the hint of the one before.
async fn running(home: &Home) -> Result<Option<InstanceHint>, Failure> {
    let until = Instant::now() + NAME_LIMIT;
    loop {
        match inspect(home)? {
            Inspection::Free => return Ok(None),
            Inspection::Served(Some(hint)) => return Ok(Some(hint)),
            Inspection::Served(None) if Instant::now() < until => sleep(LOOK_EVERY).await,
            Inspection::Served(None) => return Err(Failure::Nameless),
        }
    }
}

fn tell_to_end(pid: u32) -> Result<(), Failure> {
    let told = match i32::try_from(pid) {
        Ok(raw) if raw > 1 => kill(Pid::from_raw(raw), Signal::SIGTERM),
        Ok(_) | Err(_) => return Err(Failure::Nameless),
    };
    match told {
        // Gone by itself in between is as good.
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(Failure::NotTold { pid, source: error.into() }),
    }
}

/// Opens the log at its end, and says where that is.
fn open_log(path: &Path) -> Result<(File, u64), Failure> {
    let failed = |source| Failure::File { action: "written", path: path.to_owned(), source };
    if fs::metadata(path).is_ok_and(|known| known.len() > LOG_BYTES) {
        fs::rename(path, path.with_extension("log.1")).map_err(failed)?;
    }
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    let begin = file.metadata().map_err(failed)?.len();
    Ok((file, begin))
}

fn last_words(log: &Path, begin: u64) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(begin.max(length.saturating_sub(LAST_WORDS_BYTES))))?;
        let mut bytes = Vec::new();
        file.take(LAST_WORDS_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    // Without words the status has to do.
    read().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_logged_since_the_start_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("server.log");
        fs::write(&log, "old words\n").unwrap();
        let (_file, begin) = open_log(&log).unwrap();
        fs::write(&log, "old words\nhangar: new words\n").unwrap();
        assert_eq!(last_words(&log, begin), "hangar: new words");
    }

    #[test]
    fn no_process_group_and_no_init_is_ever_told_to_end() {
        for pid in [0, 1, u32::MAX] {
            assert!(matches!(tell_to_end(pid), Err(Failure::Nameless)));
        }
    }
}
