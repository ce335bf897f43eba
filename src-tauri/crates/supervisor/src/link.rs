//! One child process and the pipe to it.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use hangar_protocol::{FromWorker, MAX_FROM_WORKER_BYTES, Splitter, ToWorker, decode, encode};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

use crate::machine::Generation;
use crate::stderr::{Tail, follow};
use crate::{Cause, Exit, Launch, WorkerCommand};

/// Frames that may wait to be written; the worker's reader takes them at once, so this never fills.
const WAITING_FRAMES: usize = 64;
/// How long the last frames of an ended process are waited for: a grandchild may hold the pipe open.
const DRAIN: Duration = Duration::from_millis(500);

/// What becomes of a child, in order: `Unborn` alone, or `Born` first and `Exited` last.
#[derive(Debug)]
pub(crate) enum ChildEvent {
    Born(Link),
    Unborn(Cause),
    Frame(FromWorker),
    Broken(String),
    Exited { status: Exit, stderr_tail: Vec<String> },
}

/// The server's end of a living child.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) pid: u32,
    tail: Tail,
    frames: mpsc::Sender<ToWorker>,
}

/// The pipe does not take a frame.
#[derive(Debug)]
pub(crate) struct PipeClosed;

/// Makes the command, starts the process and tells of it; everything the child says comes after its birth.
pub(crate) async fn start(
    launcher: Arc<dyn Launch>,
    generation: Generation,
    events: mpsc::Sender<(Generation, ChildEvent)>,
) {
    let command = tokio::task::spawn_blocking(move || launcher.command()).await;
    let born = match command {
        Ok(Ok(command)) => Link::spawn(&command)
            .map_err(|error| Cause::SpawnFailed { what: format!("{}: {error}", command.program.display()) }),
        Ok(Err(cause)) => Err(cause),
        Err(error) => Err(Cause::SpawnFailed { what: error.to_string() }),
    };
    match born {
        Ok((link, unfollowed)) => {
            let pid = link.pid;
            if events.send((generation, ChildEvent::Born(link))).await.is_ok() {
                unfollowed.follow(pid, generation, events);
            }
        }
        Err(cause) => drop(events.send((generation, ChildEvent::Unborn(cause))).await),
    }
}

/// A started process whose output nobody reads yet.
struct Unfollowed {
    child: Child,
    stdout: ChildStdout,
    stderr: ChildStderr,
    tail: Tail,
}

impl Unfollowed {
    fn follow(mut self, pid: u32, generation: Generation, events: mpsc::Sender<(Generation, ChildEvent)>) {
        let tail = self.tail;
        let following = tokio::spawn(follow(self.stderr, pid, tail.clone()));
        let reading = tokio::spawn(read_frames(self.stdout, generation, events.clone()));
        tokio::spawn(async move {
            let status = reap(&mut self.child).await;
            drop(tokio::time::timeout(DRAIN, reading).await);
            drop(tokio::time::timeout(DRAIN, following).await);
            drop(events.send((generation, ChildEvent::Exited { status, stderr_tail: tail.lines() })).await);
        });
    }
}

impl Link {
    /// Starts the process in its own group.
    fn spawn(command: &WorkerCommand) -> std::io::Result<(Self, Unfollowed)> {
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .env_clear()
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let gone = || std::io::Error::other("the process has no pipes");
        let pid = child.id().ok_or_else(gone)?;
        let stdin = child.stdin.take().ok_or_else(gone)?;
        let stdout = child.stdout.take().ok_or_else(gone)?;
        let stderr = child.stderr.take().ok_or_else(gone)?;
        let (frames, waiting) = mpsc::channel(WAITING_FRAMES);
        tokio::spawn(write_frames(stdin, waiting));
        let tail = Tail::default();
        Ok((Self { pid, tail: tail.clone(), frames }, Unfollowed { child, stdout, stderr, tail }))
    }

    /// Hands a frame to the writer without waiting.
    pub(crate) fn send(&self, frame: ToWorker) -> Result<(), PipeClosed> {
        self.frames.try_send(frame).map_err(|_| PipeClosed)
    }

    /// Asks the process, and nothing else of its group, to write the stacks of its threads to its log.
    pub(crate) fn dump_stacks(&self) {
        self.tail.expect_stacks();
        if let Ok(pid) = i32::try_from(self.pid)
            && let Err(error) = kill(Pid::from_raw(pid), Signal::SIGUSR1)
        {
            tracing::debug!(pid, %error, "worker was gone before its stacks were asked for");
        }
    }

    /// Kills the process and everything in its group.
    pub(crate) fn kill(&self) {
        if let Ok(pid) = i32::try_from(self.pid)
            && let Err(error) = killpg(Pid::from_raw(pid), Signal::SIGKILL)
        {
            tracing::debug!(pid, %error, "worker's group was gone before it was killed");
        }
    }
}

async fn reap(child: &mut Child) -> Exit {
    match child.wait().await {
        Ok(status) => Exit::from(status),
        Err(error) => {
            tracing::error!(%error, "worker's end could not be waited for");
            Exit::Unknown
        }
    }
}

async fn write_frames(mut stdin: ChildStdin, mut waiting: mpsc::Receiver<ToWorker>) {
    while let Some(frame) = waiting.recv().await {
        let line = match encode(&frame) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "frame to the worker could not be written");
                continue;
            }
        };
        drop(frame);
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn read_frames(
    mut stdout: ChildStdout,
    generation: Generation,
    events: mpsc::Sender<(Generation, ChildEvent)>,
) {
    let mut splitter = Splitter::new(MAX_FROM_WORKER_BYTES);
    let mut buffer = vec![0; 32 * 1024];
    loop {
        let event = match splitter.next_line() {
            Ok(Some(line)) => match decode::<FromWorker>(&line) {
                Ok(frame) => ChildEvent::Frame(frame),
                Err(error) => ChildEvent::Broken(error.to_string()),
            },
            Err(error) => ChildEvent::Broken(error.to_string()),
            Ok(None) => match stdout.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    splitter.push(&buffer[..count]);
                    continue;
                }
            },
        };
        let broken = matches!(event, ChildEvent::Broken(_));
        if events.send((generation, event)).await.is_err() || broken {
            return;
        }
    }
}
