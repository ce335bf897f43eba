//! A scripted engine: it speaks the real protocol over the real loop, and misbehaves on demand.
//!
//! Tests use it for faults the real engine will not show when asked to.
#![expect(
    unsafe_code,
    reason = "a worker that is stuck for good does not even heed the signal for its stacks"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hangar_protocol::{
    Accepted, Failed, FinishReason, Finished, FromWorker, Generate, Hello, Kept, LoadFailed, Loaded,
    MAX_FROM_WORKER_BYTES, MemoryUse, ModelFacts, Phase, Pieces, ProbeReport, Probed, RequestId, StateId,
    Timings, TokenUse, WorkerFault,
};

use crate::{Command, Ended, Outlet, Pipe, beat_until_closed, read_frames};

mod life;

pub use life::{Ending, Life, WedgeIn, next_life};

/// Status of a worker that a script told to crash.
pub const STATUS_SCRIPTED_CRASH: i32 = 9;

/// Tokens a scripted engine says every prompt has.
const PROMPT_TOKENS: u32 = 3;

/// Lives one life over standard input and output; the status to exit with.
pub fn live(life: &Life) -> i32 {
    // SAFETY: neither needs a handler. Rust's own one for SIGSEGV swallows the first that is sent from outside.
    unsafe {
        libc::signal(libc::SIGUSR1, libc::SIG_IGN);
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
    }
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
    let mut engine = Scripted { life, pipe: &pipe, server: &ended, answered: 0, kept: BTreeMap::new() };
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
    answered: usize,
    /// Tokens of each kept state.
    kept: BTreeMap<StateId, u32>,
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
                    report: ProbeReport { worst_abs_logprob: 0.0, borders: 1, prompt_tokens: 2 },
                }))?,
                Ok(Command::Forget(forget)) => self.kept.retain(|state, _| !forget.states.contains(state)),
                Ok(Command::Shutdown) if self.life.heeds_shutdown => return Ok(()),
                Ok(Command::Shutdown) => {}
                Err(_) if self.life.heeds_shutdown => return Ok(()),
                Err(_) => self.wedge()?,
            }
        }
    }

    fn load(&mut self) -> Result<(), Over> {
        self.pipe.counters.set(Phase::Loading, None, 0, 1, 0);
        self.pause(self.life.load_delay_ms)?;
        if self.life.wedge_in == Some(WedgeIn::Load) {
            return self.wedge();
        }
        self.pipe.counters.set(Phase::Idle, None, 0, 0, 0);
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
        let base_tokens = match generate.base {
            None => 0,
            Some(state) => match self.kept.get(&state) {
                Some(tokens) => *tokens,
                None => {
                    let fault = WorkerFault::StateUnknown { state: state.0 };
                    return self.emit(&FromWorker::Failed(Failed { request, fault }));
                }
            },
        };
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
        let total = u64::from(self.life.prefill_chunks);
        for chunk in 0..total {
            self.pipe.counters.set(Phase::Prefill, Some(request), chunk, total, 1);
            if self.pause_unless_cancelled(request, self.life.chunk_delay_ms)? {
                return self.finish(request, FinishReason::Cancelled, 0, None);
            }
            if self.life.wedge_in == Some(WedgeIn::Prefill) {
                return self.wedge_until_cancelled(request, 0);
            }
        }
        let flood = vec![b'.'; self.life.stderr_flood_bytes.try_into().map_err(|_| Over(1))?];
        std::io::Write::write_all(&mut std::io::stderr(), &flood).map_err(|_| Over(1))?;
        let mut sent: u32 = 0;
        let life = self.life;
        let pieces = life.answer(self.answered);
        self.answered += 1;
        for piece in pieces {
            self.pipe.counters.set(Phase::Decode, Some(request), sent.into(), generate.max_tokens.into(), 0);
            let cancelled = self.pause_unless_cancelled(request, self.life.piece_delay_ms)?;
            if cancelled {
                return self.finish(request, FinishReason::Cancelled, sent, None);
            }
            if sent == generate.max_tokens {
                let kept = self.keep(generate.keep, base_tokens, sent);
                return self.finish(request, FinishReason::Length, sent, kept);
            }
            sent += 1;
            self.emit(&FromWorker::Pieces(Pieces {
                request,
                made_tokens: sent,
                pieces: vec![piece.clone()],
            }))?;
        }
        match self.life.ending {
            Ending::Finish => {
                let kept = self.keep(generate.keep, base_tokens, sent);
                self.finish(request, FinishReason::Stop, sent, kept)
            }
            Ending::Length => {
                let kept = self.keep(generate.keep, base_tokens, sent);
                self.finish(request, FinishReason::Length, sent, kept)
            }
            Ending::Crash => Err(Over(STATUS_SCRIPTED_CRASH)),
            Ending::ExitInOrder => Err(Over(0)),
            Ending::Wedge => self.wedge_until_cancelled(request, sent),
            Ending::Garbage => self.raw(b"Traceback (most recent call last):\n"),
            Ending::Oversized => self.raw(&vec![b'x'; MAX_FROM_WORKER_BYTES + 2]),
            Ending::HalfFrame => {
                self.raw(br#"{"type":"finished","request":"#)?;
                Err(Over(0))
            }
            Ending::NotUtf8 => self.raw(b"{\"type\":\"pieces\",\"request\":1,\"pieces\":[{\"type\":\"text\",\"text\":\"\xff\xfe\"}]}\n"),
            Ending::Fault => self.emit(&FromWorker::Failed(Failed {
                request,
                fault: self.life.fault.clone(),
            })),
        }
    }

    fn keep(&mut self, state: Option<StateId>, base_tokens: u32, sent: u32) -> Option<Kept> {
        let context_tokens = base_tokens + PROMPT_TOKENS + sent;
        self.kept.insert(state?, context_tokens);
        Some(Kept { context_tokens, bytes: u64::from(context_tokens) * 100 })
    }

    fn finish(
        &self,
        request: RequestId,
        reason: FinishReason,
        sent: u32,
        kept: Option<Kept>,
    ) -> Result<(), Over> {
        self.pipe.counters.set(Phase::Idle, None, 0, 0, 0);
        self.emit(&FromWorker::Finished(Finished {
            request,
            reason,
            tokens: TokenUse { prompt_tokens: PROMPT_TOKENS, cached_tokens: 0, completion_tokens: sent },
            timings: Timings { prefill_ms: 1.0, generation_ms: 2.0 },
            memory: MemoryUse { active_bytes: 1024, peak_bytes: 2048, cache_bytes: 0 },
            warnings: Vec::new(),
            kept,
        }))
    }

    fn wedge_until_cancelled(&mut self, request: RequestId, sent: u32) -> Result<(), Over> {
        loop {
            if self.pause_unless_cancelled(request, 20)? {
                return self.finish(request, FinishReason::Cancelled, sent, None);
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
