//! The extension module `hangar_worker._native`: what Python may ask of the Rust half.
//!
//! Reader and heartbeat run on their own threads and never take the interpreter lock. When the server is
//! gone the process ends at once, also while Python computes: macOS has no signal for a parent's death.
#![expect(unsafe_code, reason = "descriptors 0 and 1 are taken over from the interpreter")]

use std::fs::File;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hangar_protocol::{FromWorker, Phase, Piece, Pieces, RequestId, ToWorker, decode, encode};
use pyo3::exceptions::{PyBrokenPipeError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::{Command, Ended, Outlet, Pipe, beat_until_closed, read_frames};

const BEAT_EVERY: Duration = Duration::from_millis(500);
/// Status of a worker whose server sent what is not a frame.
const STATUS_BROKEN_PIPE: i32 = 70;

struct Native {
    pipe: Arc<Pipe>,
    commands: Mutex<Receiver<Command>>,
}

static NATIVE: OnceLock<Native> = OnceLock::new();

/// Takes over the pipe and starts the threads; to be called once, before anything prints.
#[pyfunction]
fn start() -> PyResult<()> {
    let (reader, writer) = take_descriptors().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let pipe = Arc::new(Pipe::new(Outlet::new(Box::new(writer))));
    let (sender, receiver) = channel();
    let native = Native { pipe: Arc::clone(&pipe), commands: Mutex::new(receiver) };
    NATIVE.set(native).map_err(|_| PyRuntimeError::new_err("the pipe was taken over already"))?;
    be_waited_for();
    let reading = Arc::clone(&pipe);
    std::thread::spawn(move || {
        be_waited_for();
        match read_frames(reader, &reading, &sender) {
            Ended::ServerGone => leave(0),
            Ended::Broken(error) => {
                log_error(&error.to_string());
                leave(STATUS_BROKEN_PIPE)
            }
        }
    });
    std::thread::spawn(move || {
        be_waited_for();
        let (_keep, closed) = channel();
        beat_until_closed(&pipe, BEAT_EVERY, &closed);
    });
    Ok(())
}

/// Waits for the next command without the interpreter lock; its frame as JSON.
#[pyfunction]
fn next_command(py: Python<'_>) -> PyResult<String> {
    let native = native()?;
    let received = py.detach(|| native.commands.lock().unwrap_or_else(PoisonError::into_inner).recv());
    let frame = match received {
        Ok(Command::Load(load)) => ToWorker::Load(load),
        Ok(Command::Generate(generate)) => ToWorker::Generate(generate),
        Ok(Command::Probe(probe)) => ToWorker::Probe(probe),
        Ok(Command::Forget(forget)) => ToWorker::Forget(forget),
        Ok(Command::Shutdown) => ToWorker::Shutdown,
        Err(_) => return Err(PyBrokenPipeError::new_err("the server is gone")),
    };
    let mut line = encode(&frame).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    line.pop();
    String::from_utf8(line).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Writes one frame given as JSON; what is not a frame of the protocol is refused.
#[pyfunction]
fn emit(frame_json: &str) -> PyResult<()> {
    let frame: FromWorker =
        decode(frame_json.as_bytes()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    native()?.pipe.emit(&frame).map_err(|error| PyBrokenPipeError::new_err(error.to_string()))
}

/// Writes one `pieces` frame from (is a control token, text or name) pairs: the frame of every token, spared
/// the way through JSON text that the rarer frames take.
#[pyfunction]
fn emit_pieces(request: u64, made_tokens: u32, pieces: Vec<(bool, String)>) -> PyResult<()> {
    let pieces = pieces.into_iter().map(|(is_control, text)| match is_control {
        true => Piece::Control { token: text },
        false => Piece::Text { text },
    });
    let frame =
        FromWorker::Pieces(Pieces { request: RequestId(request), made_tokens, pieces: pieces.collect() });
    native()?.pipe.emit(&frame).map_err(|error| PyBrokenPipeError::new_err(error.to_string()))
}

/// Sets what the next beat will say; `step` is the size of the step that begins now, where it may take long.
#[pyfunction]
#[pyo3(signature = (phase, request, done, total, step = 0))]
fn progress(phase: &str, request: Option<u64>, done: u64, total: u64, step: u64) -> PyResult<()> {
    let phase = phase_of(phase).ok_or_else(|| PyValueError::new_err("phase is unknown"))?;
    native()?.pipe.counters.set(phase, request.map(RequestId), done, total, step);
    Ok(())
}

/// Whether the server asked to stop this request.
#[pyfunction]
fn cancelled(request: u64) -> PyResult<bool> {
    Ok(native()?.pipe.cancels.is_asked(RequestId(request)))
}

/// The protocol's version.
#[pyfunction]
fn protocol_version() -> u32 {
    hangar_protocol::PROTOCOL_VERSION
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(start, module)?)?;
    module.add_function(wrap_pyfunction!(next_command, module)?)?;
    module.add_function(wrap_pyfunction!(emit, module)?)?;
    module.add_function(wrap_pyfunction!(emit_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(progress, module)?)?;
    module.add_function(wrap_pyfunction!(cancelled, module)?)?;
    module.add_function(wrap_pyfunction!(protocol_version, module)?)
}

fn phase_of(word: &str) -> Option<Phase> {
    Some(match word {
        "idle" => Phase::Idle,
        "loading" => Phase::Loading,
        "warming_up" => Phase::WarmingUp,
        "prefill" => Phase::Prefill,
        "decode" => Phase::Decode,
        "probing" => Phase::Probing,
        _ => return None,
    })
}

fn native() -> PyResult<&'static Native> {
    NATIVE.get().ok_or_else(|| PyRuntimeError::new_err("start() was not called"))
}

/// Moves the real standard input and output out of Python's reach: input becomes empty, output becomes
/// standard error, so that a stray print cannot break a frame.
fn take_descriptors() -> std::io::Result<(File, File)> {
    let reader = duplicate(libc::STDIN_FILENO)?;
    let writer = duplicate(libc::STDOUT_FILENO)?;
    let nothing = File::open("/dev/null")?;
    replace(std::os::fd::AsRawFd::as_raw_fd(&nothing), libc::STDIN_FILENO)?;
    replace(libc::STDERR_FILENO, libc::STDOUT_FILENO)?;
    Ok((reader, writer))
}

fn duplicate(descriptor: RawFd) -> std::io::Result<File> {
    // SAFETY: fcntl only reads its arguments; a valid result is a new descriptor owned by nobody else.
    unsafe {
        let copy = libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3);
        if copy < 0 { Err(std::io::Error::last_os_error()) } else { Ok(File::from_raw_fd(copy)) }
    }
}

fn replace(source: RawFd, target: RawFd) -> std::io::Result<()> {
    // SAFETY: dup2 only reads its arguments; no Rust object owns descriptors 0 and 1.
    let done = unsafe { libc::dup2(source, target) };
    if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

fn log_error(what: &str) {
    let line = serde_json::json!({ "level": "error", "event": "pipe_broken", "what": what });
    drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()));
}

/// Ends the process without waiting for the interpreter lock or running exit handlers.
fn leave(status: i32) -> ! {
    // SAFETY: _exit takes any status and does not return.
    unsafe { libc::_exit(status) }
}

/// Tells macOS that a person waits for what this thread does: a child of a process without a window would else be
/// put on the slow cores. Nothing to do elsewhere.
fn be_waited_for() {
    #[cfg(target_os = "macos")]
    {
        const USER_INITIATED: libc::c_uint = 0x19;
        unsafe extern "C" {
            fn pthread_set_qos_class_self_np(
                class: libc::c_uint,
                relative_priority: libc::c_int,
            ) -> libc::c_int;
        }
        // SAFETY: two numbers, for this thread alone.
        if unsafe { pthread_set_qos_class_self_np(USER_INITIATED, 0) } != 0 {
            log_error("the system did not take the thread's quality of service");
        }
    }
}
