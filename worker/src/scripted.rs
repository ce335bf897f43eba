//! A scripted engine: it speaks the real protocol over the real loop, and misbehaves on demand.
//!
//! Tests use it for faults the real engine will not show when asked to.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hangar_protocol::{
    Accepted, Failed, FinishReason, Finished, FromWorker, Generate, Hello, LoadFailed, Loaded,
    MAX_FROM_WORKER_BYTES, MemoryUse, ModelFacts, PROTOCOL_VERSION, Phase, Piece, Pieces, ProbeReport,
    Probed, RequestId, Timings, TokenUse, Verdict, WorkerFault,
};
use serde_json::Value;

use crate::{Command, Ended, Outlet, Pipe, beat_until_closed, read_frames};

/// Status of a worker that a script told to crash.
pub const STATUS_SCRIPTED_CRASH: i32 = 9;

/// Tokens a scripted engine says every prompt has.
const PROMPT_TOKENS: u32 = 3;

/// What one life of the worker does.
#[derive(Clone, Debug)]
pub struct Life {
    /// Time before the hello, in milliseconds.
    pub hello_delay_ms: u64,
    /// Protocol version to claim.
    pub protocol: u32,
    /// Runtime verdict to claim.
    pub verdict: Verdict,
    /// Time to load, in milliseconds.
    pub load_delay_ms: u64,
    /// Fault to fail the load with.
    pub load_fault: Option<WorkerFault>,
    /// Pieces of an answer, sent one by one; written as strings where they are text.
    pub pieces: Vec<Piece>,
    /// Window to claim; a request over it fails as a real one does.
    pub window_tokens: u32,
    /// Time before each piece, in milliseconds.
    pub piece_delay_ms: u64,
    /// How an answer ends.
    pub ending: Ending,
    /// Whether cancels are looked at.
    pub heeds_cancel: bool,
    /// Whether a shutdown is carried out.
    pub heeds_shutdown: bool,
    /// Whether beats are sent.
    pub beats: bool,
}

/// How a scripted answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order.
    Finish,
    /// At the token limit.
    Length,
    /// The process ends with [`STATUS_SCRIPTED_CRASH`].
    Crash,
    /// The process ends with status 0.
    ExitInOrder,
    /// Nothing more comes.
    Wedge,
    /// A line that is not a frame.
    Garbage,
    /// A line over the limit.
    Oversized,
    /// An engine fault.
    Fault,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            hello_delay_ms: 0,
            protocol: PROTOCOL_VERSION,
            verdict: Verdict::Verified,
            load_delay_ms: 0,
            load_fault: None,
            pieces: vec![text("hello "), text("world")],
            window_tokens: u32::MAX,
            piece_delay_ms: 0,
            ending: Ending::Finish,
            heeds_cancel: true,
            heeds_shutdown: true,
            beats: true,
        }
    }
}

impl Life {
    /// Reads a life from JSON; keys left out keep their defaults, unknown words are an error.
    ///
    /// # Errors
    /// Names the key that cannot be read.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let mut life = Self::default();
        let Some(object) = value.as_object() else {
            return Err("a life is an object".into());
        };
        for (key, value) in object {
            let wrong = || format!("key {key} has a value that cannot be used: {value}");
            match key.as_str() {
                "hello_delay_ms" => life.hello_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "protocol" => life.protocol = serde_json::from_value(value.clone()).map_err(|_| wrong())?,
                "verdict" => life.verdict = serde_json::from_value(value.clone()).map_err(|_| wrong())?,
                "load_delay_ms" => life.load_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "load_fault" => {
                    life.load_fault = serde_json::from_value(value.clone()).map_err(|_| wrong())?
                }
                "pieces" => {
                    let list = value.as_array().ok_or_else(wrong)?;
                    life.pieces = list
                        .iter()
                        .map(piece_of)
                        .collect::<Option<_>>()
                        .ok_or_else(wrong)?;
                }
                "window_tokens" => {
                    life.window_tokens = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
                }
                "piece_delay_ms" => life.piece_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "ending" => life.ending = value.as_str().and_then(Ending::from_word).ok_or_else(wrong)?,
                "heeds_cancel" => life.heeds_cancel = value.as_bool().ok_or_else(wrong)?,
                "heeds_shutdown" => life.heeds_shutdown = value.as_bool().ok_or_else(wrong)?,
                "beats" => life.beats = value.as_bool().ok_or_else(wrong)?,
                _ => return Err(format!("key {key} is unknown")),
            }
        }
        Ok(life)
    }
}

impl Ending {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "finish" => Self::Finish,
            "length" => Self::Length,
            "crash" => Self::Crash,
            "exit_in_order" => Self::ExitInOrder,
            "wedge" => Self::Wedge,
            "garbage" => Self::Garbage,
            "oversized" => Self::Oversized,
            "fault" => Self::Fault,
            _ => return None,
        })
    }
}

/// Picks the life of this start: the script file holds an array of lives, and a counter beside it says how
/// often it was started; the last life repeats.
///
/// # Errors
/// What cannot be read, as text for the log.
pub fn next_life(script: &Path) -> Result<Life, String> {
    let text = std::fs::read_to_string(script).map_err(|error| error.to_string())?;
    let lives: Vec<Value> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let counter = script.with_extension("starts");
    let starts = std::fs::read_to_string(&counter)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0_usize);
    std::fs::write(&counter, (starts + 1).to_string()).map_err(|error| error.to_string())?;
    let life = lives
        .get(starts)
        .or(lives.last())
        .ok_or("a script holds at least one life")?;
    Life::from_json(life)
}

/// Lives one life over standard input and output; the status to exit with.
pub fn live(life: &Life) -> i32 {
    let pipe = Arc::new(Pipe::new(Outlet::new(Box::new(std::io::stdout()))));
    let (sender, commands) = channel();
    let (ended_sender, ended) = channel();
    let reading = Arc::clone(&pipe);
    std::thread::spawn(move || {
        let status = match read_frames(std::io::stdin(), &reading, &sender) {
            Ended::ServerGone => 0,
            Ended::Broken(_) => 70,
        };
        let _engine_may_be_gone = ended_sender.send(status);
    });
    let beating = Arc::clone(&pipe);
    if life.beats {
        std::thread::spawn(move || {
            let (_keep, closed) = channel();
            beat_until_closed(&beating, Duration::from_millis(20), &closed);
        });
    }
    let mut engine = Scripted {
        life,
        pipe: &pipe,
        server: &ended,
    };
    match engine.run(&commands) {
        Err(Over(status)) => status,
        Ok(()) => 0,
    }
}

/// The life is over with this status.
struct Over(i32);

struct Scripted<'a> {
    life: &'a Life,
    pipe: &'a Pipe,
    server: &'a Receiver<i32>,
}

impl Scripted<'_> {
    fn run(&mut self, commands: &Receiver<Command>) -> Result<(), Over> {
        self.pause(self.life.hello_delay_ms)?;
        self.emit(&FromWorker::Hello(Hello {
            protocol: self.life.protocol,
            worker: "scripted".into(),
            python: "none".into(),
            mlx: "none".into(),
            mlx_vlm: "none".into(),
            pid: std::process::id(),
            verdict: self.life.verdict.clone(),
        }))?;
        loop {
            match commands.recv() {
                Ok(Command::Load(_)) => self.load()?,
                Ok(Command::Generate(generate)) => self.generate(&generate)?,
                Ok(Command::Probe(probe)) => self.emit(&FromWorker::Probed(Probed {
                    request: probe.request,
                    report: ProbeReport {
                        worst_abs_logprob: 0.0,
                        borders: 1,
                        prompt_tokens: 2,
                    },
                }))?,
                Ok(Command::Shutdown) if self.life.heeds_shutdown => return Ok(()),
                Ok(Command::Shutdown) => {}
                Err(_) if self.life.heeds_shutdown => return Ok(()),
                Err(_) => self.wedge()?,
            }
        }
    }

    fn load(&mut self) -> Result<(), Over> {
        self.pipe.counters.set(Phase::Loading, None, 0, 1);
        self.pause(self.life.load_delay_ms)?;
        self.pipe.counters.set(Phase::Idle, None, 0, 0);
        if let Some(fault) = self.life.load_fault.clone() {
            return self.emit(&FromWorker::LoadFailed(LoadFailed { fault }));
        }
        self.emit(&FromWorker::Loaded(Loaded {
            model: ModelFacts {
                model_type: "scripted".into(),
                parameters: 0,
                vocabulary_tokens: 0,
                image: false,
                audio: false,
                prefill_chunk_tokens: 1,
            },
            load_ms: self.life.load_delay_ms,
            memory: MemoryUse::default(),
        }))
    }

    fn generate(&mut self, generate: &Generate) -> Result<(), Over> {
        let request = generate.request;
        if PROMPT_TOKENS.saturating_add(generate.max_tokens) > self.life.window_tokens {
            let fault = WorkerFault::ContextLengthExceeded {
                prompt_tokens: PROMPT_TOKENS,
                max_tokens: generate.max_tokens,
                window_tokens: self.life.window_tokens,
            };
            return self.emit(&FromWorker::Failed(Failed { request, fault }));
        }
        self.emit(&FromWorker::Accepted(Accepted {
            request,
            prompt_tokens: PROMPT_TOKENS,
            cached_tokens: 0,
        }))?;
        let mut sent: u32 = 0;
        for piece in &self.life.pieces {
            self.pipe.counters.set(
                Phase::Decode,
                Some(request),
                sent.into(),
                generate.max_tokens.into(),
            );
            let cancelled = self.pause_unless_cancelled(request, self.life.piece_delay_ms)?;
            if cancelled {
                return self.finish(request, FinishReason::Cancelled, sent);
            }
            if sent == generate.max_tokens {
                return self.finish(request, FinishReason::Length, sent);
            }
            self.emit(&FromWorker::Pieces(Pieces {
                request,
                pieces: vec![piece.clone()],
            }))?;
            sent += 1;
        }
        match self.life.ending {
            Ending::Finish => self.finish(request, FinishReason::Stop, sent),
            Ending::Length => self.finish(request, FinishReason::Length, sent),
            Ending::Crash => Err(Over(STATUS_SCRIPTED_CRASH)),
            Ending::ExitInOrder => Err(Over(0)),
            Ending::Wedge => self.wedge_until_cancelled(request, sent),
            Ending::Garbage => self.raw(b"Traceback (most recent call last):\n"),
            Ending::Oversized => self.raw(&vec![b'x'; MAX_FROM_WORKER_BYTES + 2]),
            Ending::Fault => self.emit(&FromWorker::Failed(Failed {
                request,
                fault: WorkerFault::Engine {
                    what: "ScriptedError".into(),
                },
            })),
        }
    }

    fn finish(&self, request: RequestId, reason: FinishReason, sent: u32) -> Result<(), Over> {
        self.pipe.counters.set(Phase::Idle, None, 0, 0);
        self.emit(&FromWorker::Finished(Finished {
            request,
            reason,
            tokens: TokenUse {
                prompt_tokens: PROMPT_TOKENS,
                cached_tokens: 0,
                completion_tokens: sent,
            },
            timings: Timings {
                prefill_ms: 1.0,
                generation_ms: 2.0,
            },
            memory: MemoryUse {
                active_bytes: 1024,
                peak_bytes: 2048,
                cache_bytes: 0,
            },
        }))
    }

    fn wedge_until_cancelled(&mut self, request: RequestId, sent: u32) -> Result<(), Over> {
        loop {
            if self.pause_unless_cancelled(request, 20)? {
                return self.finish(request, FinishReason::Cancelled, sent);
            }
        }
    }

    fn wedge(&mut self) -> Result<(), Over> {
        loop {
            self.pause(1000)?;
        }
    }

    fn pause_unless_cancelled(&mut self, request: RequestId, milliseconds: u64) -> Result<bool, Over> {
        let mut left = milliseconds;
        loop {
            if self.life.heeds_cancel && self.pipe.cancels.is_asked(request) {
                return Ok(true);
            }
            if left == 0 {
                return Ok(false);
            }
            let step = left.min(5);
            self.pause(step)?;
            left -= step;
        }
    }

    fn pause(&mut self, milliseconds: u64) -> Result<(), Over> {
        if milliseconds == 0 {
            return Ok(());
        }
        match self.server.recv_timeout(Duration::from_millis(milliseconds)) {
            Ok(status) => Err(Over(status)),
            Err(_) => Ok(()),
        }
    }

    fn emit(&self, frame: &FromWorker) -> Result<(), Over> {
        self.pipe.emit(frame).map_err(|_| Over(0))
    }

    fn raw(&self, line: &[u8]) -> Result<(), Over> {
        self.pipe.outlet.write_raw(line).map_err(|_| Over(0))
    }
}

fn text(text: &str) -> Piece {
    Piece::Text {
        text: text.to_owned(),
    }
}

fn piece_of(value: &Value) -> Option<Piece> {
    match value.as_str() {
        Some(written) => Some(text(written)),
        None => serde_json::from_value(value.clone()).ok(),
    }
}
