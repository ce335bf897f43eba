//! A worker's standard error: structured lines are re-emitted, the last ones kept for a failure's report.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

/// Enough for the stacks of a worker's threads.
const KEPT_LINES: usize = 60;
const MAX_LINE_BYTES: u64 = 4096;

/// The last lines, shared between the reader and whoever reports a failure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    stacks_expected: Arc<AtomicBool>,
}

impl Tail {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// From now on stacks of threads may come, whose lines are fit for the log.
    pub(crate) fn expect_stacks(&self) {
        self.stacks_expected.store(true, Ordering::Relaxed);
    }

    fn keep(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Reads until the worker's end; overlong lines are cut.
pub(crate) async fn follow(stderr: ChildStderr, pid: u32, tail: Tail) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                if !text.is_empty() {
                    report(pid, &text, tail.stacks_expected.load(Ordering::Relaxed));
                    tail.keep(text);
                }
            }
        }
    }
}

fn report(pid: u32, text: &str, stacks_expected: bool) {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(text) else {
        if stacks_expected && is_of_stack(text) {
            tracing::warn!(target: "worker", pid, stack = text, "worker is stuck here");
            return;
        }
        // Nobody vouches for what is in it, so its text stays out of the log; what an early end left behind is
        // told with its cause.
        tracing::debug!(target: "worker", pid, line_bytes = text.len(), "worker wrote to standard error");
        return;
    };
    let level = fields.get("level").and_then(serde_json::Value::as_str).unwrap_or("info");
    match level {
        "error" => tracing::error!(target: "worker", pid, record = text, "worker reported an error"),
        "warn" => tracing::warn!(target: "worker", pid, record = text, "worker reported a warning"),
        _ => tracing::info!(target: "worker", pid, record = text, "worker reported"),
    }
}

/// Whether a line is one of Python's dump of stacks: names of threads, files and functions, no values.
fn is_of_stack(text: &str) -> bool {
    text.starts_with("Thread 0x") || text.starts_with("Current thread 0x") || text.starts_with("  File \"")
}
