//! The loops around an engine: reading frames and beating.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use hangar_protocol::{
    Forget, FrameError, FromWorker, Generate, Load, MAX_TO_WORKER_BYTES, Pong, Probe, RequestId, Splitter,
    ToWorker, decode,
};

use crate::{CancelFlags, Counters, Outlet};

/// What the engine has to deal with itself; pings and cancels never reach it.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Load a model.
    Load(Load),
    /// Answer a prompt.
    Generate(Generate),
    /// Measure exactness.
    Probe(Probe),
    /// Let go of kept states.
    Forget(Forget),
    /// Exit in order.
    Shutdown,
}

/// Why reading ended.
#[derive(Debug)]
pub enum Ended {
    /// The server closed the pipe, or died.
    ServerGone,
    /// The server sent what is not a frame.
    Broken(FrameError),
}

/// Everything the loops and the engine share.
#[derive(Debug)]
pub struct Pipe {
    /// Where frames are written.
    pub outlet: Outlet,
    /// What the engine is doing.
    pub counters: Counters,
    /// Which requests are to stop.
    pub cancels: CancelFlags,
}

impl Pipe {
    /// A pipe that writes through `outlet`.
    pub fn new(outlet: Outlet) -> Self {
        Self { outlet, counters: Counters::default(), cancels: CancelFlags::default() }
    }

    /// Writes a frame of the engine and forgets the cancel marks of a request that it ends.
    ///
    /// # Errors
    /// [`crate::outlet::OutletError`] when the frame is too large or the server is gone.
    pub fn emit(&self, frame: &FromWorker) -> Result<(), crate::outlet::OutletError> {
        self.outlet.send(frame)?;
        if let Some(ended) = ends(frame) {
            self.cancels.forget_through(ended);
        }
        Ok(())
    }
}

/// Reads frames until the server is gone; commands go to the engine, the rest is dealt with here.
pub fn read_frames(mut reader: impl Read, pipe: &Pipe, commands: &Sender<Command>) -> Ended {
    let mut splitter = Splitter::new(MAX_TO_WORKER_BYTES);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match splitter.next_line() {
            Err(error) => return Ended::Broken(error),
            Ok(Some(line)) => {
                let frame = match decode::<ToWorker>(&line) {
                    Ok(frame) => frame,
                    Err(error) => return Ended::Broken(error),
                };
                let command = match frame {
                    ToWorker::Cancel(cancel) => {
                        pipe.cancels.ask(cancel.request);
                        continue;
                    }
                    ToWorker::Ping(ping) => {
                        if pipe.outlet.send(&FromWorker::Pong(Pong { nonce: ping.nonce })).is_err() {
                            return Ended::ServerGone;
                        }
                        continue;
                    }
                    ToWorker::Load(load) => Command::Load(load),
                    ToWorker::Generate(generate) => Command::Generate(generate),
                    ToWorker::Probe(probe) => Command::Probe(probe),
                    ToWorker::Forget(forget) => Command::Forget(forget),
                    ToWorker::Shutdown => Command::Shutdown,
                };
                if commands.send(command).is_err() {
                    return Ended::ServerGone;
                }
            }
            Ok(None) => match reader.read(&mut buffer) {
                Ok(0) => return Ended::ServerGone,
                Ok(count) => splitter.push(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return Ended::ServerGone,
            },
        }
    }
}

/// Sends a beat every `interval` until `closed` is dropped or the server is gone.
pub fn beat_until_closed(pipe: &Pipe, interval: Duration, closed: &Receiver<()>) {
    loop {
        match closed.recv_timeout(interval) {
            Err(RecvTimeoutError::Timeout) => {
                if pipe.outlet.send(&FromWorker::Beat(pipe.counters.beat())).is_err() {
                    return;
                }
            }
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn ends(frame: &FromWorker) -> Option<RequestId> {
    match frame {
        FromWorker::Finished(finished) => Some(finished.request),
        FromWorker::Failed(failed) => Some(failed.request),
        FromWorker::Probed(probed) => Some(probed.request),
        FromWorker::Hello(_)
        | FromWorker::Beat(_)
        | FromWorker::Loaded(_)
        | FromWorker::LoadFailed(_)
        | FromWorker::Accepted(_)
        | FromWorker::Pieces(_)
        | FromWorker::Pong(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn pipe() -> (Pipe, Sink) {
        let sink = Sink::default();
        (Pipe::new(Outlet::new(Box::new(sink.clone()))), sink)
    }

    #[test]
    fn a_ping_is_answered_and_a_cancel_marked_without_the_engine() {
        let (pipe, sink) = pipe();
        let (sender, receiver) = channel();
        let input = b"{\"type\":\"ping\",\"nonce\":7}\n{\"type\":\"cancel\",\"request\":3}\n{\"type\":\"shutdown\"}\n";
        assert!(matches!(read_frames(&input[..], &pipe, &sender), Ended::ServerGone));
        assert_eq!(sink.0.lock().unwrap().as_slice(), b"{\"type\":\"pong\",\"nonce\":7}\n");
        assert!(pipe.cancels.is_asked(RequestId(3)));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Command::Shutdown]);
    }

    #[test]
    fn what_is_not_a_frame_ends_reading() {
        let (pipe, _) = pipe();
        let (sender, _receiver) = channel();
        let ended = read_frames(&b"{\"type\":\"launch_rockets\"}\n"[..], &pipe, &sender);
        assert!(matches!(ended, Ended::Broken(FrameError::Malformed { .. })));
    }

    #[test]
    fn beats_carry_rising_numbers_and_the_latest_counters() {
        let (pipe, sink) = pipe();
        pipe.counters.set(hangar_protocol::Phase::Prefill, Some(RequestId(1)), 256, 670, 128);
        let (keep, closed) = channel();
        std::thread::scope(|scope| {
            let pipe = &pipe;
            scope.spawn(move || beat_until_closed(pipe, Duration::from_millis(1), &closed));
            while sink.0.lock().unwrap().iter().filter(|byte| **byte == b'\n').count() < 2 {
                std::thread::yield_now();
            }
            drop(keep);
        });
        let written = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = written.lines().collect();
        assert!(lines[0].contains("\"sequence\":1") && lines[1].contains("\"sequence\":2"));
        assert!(
            lines[1].contains("\"phase\":\"prefill\",\"request\":1,\"done\":256,\"total\":670,\"step\":128")
        );
    }
}
