//! Processes of a bench that end with it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use super::BenchError;

/// A process whose output goes to a file, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Served {
    who: &'static str,
    child: Child,
    log: PathBuf,
}

impl Served {
    pub(crate) fn start(who: &'static str, command: &mut Command, log: PathBuf) -> Result<Self, BenchError> {
        let file = |source| BenchError::File { path: log.clone(), source };
        let out = File::create(&log).map_err(file)?;
        let errors = out.try_clone().map_err(file)?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(errors).spawn();
        let child =
            child.map_err(|error| BenchError::Process { who, what: format!("did not start: {error}") })?;
        Ok(Self { who, child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks again and again until the answer is yes.
    pub(crate) fn wait_until(
        &mut self,
        limit: Duration,
        pause: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> Result<(), BenchError> {
        let until = Instant::now() + limit;
        loop {
            if ready() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.failed(&format!("ended early ({status})")));
            }
            if Instant::now() > until {
                return Err(self.failed("did not get ready"));
            }
            std::thread::park_timeout(pause);
        }
    }

    fn failed(&self, what: &str) -> BenchError {
        let mut said = String::new();
        if let Ok(mut log) = File::open(&self.log) {
            drop(log.read_to_string(&mut said));
        }
        let last: Vec<_> = said.lines().rev().take(5).collect();
        let last: Vec<_> = last.into_iter().rev().collect();
        BenchError::Process { who: self.who, what: format!("{what}; it said last: {}", last.join(" | ")) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            let _gone_already =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGTERM);
        }
        let until = Instant::now() + Duration::from_secs(15);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                drop(self.child.kill());
                drop(self.child.wait());
                return;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }
}

/// Resident memory of a process in bytes, as the system counts it.
pub(crate) fn resident_bytes(pid: u32) -> Option<f64> {
    if Path::new("/proc/self/status").exists() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        return line
            .trim()
            .strip_suffix(" kB")?
            .trim()
            .parse::<f64>()
            .ok()
            .map(|kilobytes| kilobytes * 1024.0);
    }
    let told = Command::new("ps").args(["-o", "rss=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    text.trim().parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
}

/// Fixed for programs, whatever the kernel's own clock is.
const LINUX_TICKS_A_SECOND: f64 = 100.0;

/// Processor time of a process so far, in seconds, in steps of the system's clock (10 ms).
pub(crate) fn processor_s(pid: u32) -> Option<f64> {
    if Path::new("/proc/self/stat").exists() {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may hold spaces; user and system time are the 12th and 13th field after it.
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        return Some(ticks / LINUX_TICKS_A_SECOND);
    }
    let told = Command::new("ps").args(["-o", "time=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8(told.stdout).ok()?;
    let (minutes, seconds) = text.trim().rsplit_once(':')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
}
