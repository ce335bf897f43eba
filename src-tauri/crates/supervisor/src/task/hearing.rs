//! What the child says, and who is told of it.

use hangar_protocol::{Beat, FromWorker, Phase, RequestId};
use tokio::time::Instant;

use super::Task;
use crate::link::ChildEvent;
use crate::machine::{Doing, Event, Generation, RequestEnd, Timer};
use crate::requests::TooSlow;
use crate::view::ChildView;
use crate::{LastExit, LoadProgress, ReplyEvent, StateWord};

impl Task {
    pub(super) fn child_said(&mut self, generation: Generation, event: ChildEvent) {
        match event {
            ChildEvent::Born(link) => {
                tracing::info!(pid = link.pid, generation = generation.0, "worker process started");
                if self.child.doomed {
                    link.kill();
                }
                self.child.link = Some(link);
            }
            ChildEvent::Unborn(cause) => self.step(Event::SpawnFailed { generation, cause }),
            ChildEvent::Frame(frame) => {
                self.timers.arm(Timer::Silence(generation), Instant::now() + self.silence);
                self.frame(generation, frame);
            }
            ChildEvent::Broken(what) => self.step(Event::ProtocolBroken { generation, what }),
            ChildEvent::Exited { status, stderr_tail } => {
                tracing::info!(generation = generation.0, %status, "worker process ended");
                if matches!(self.machine.word(), StateWord::Starting | StateWord::Loading) {
                    // No prompt was sent yet, so none can be in it.
                    let said = stderr_tail.join("\n");
                    tracing::error!(%status, said, "worker ended before it was ready");
                }
                self.publisher.ended(LastExit {
                    generation: generation.0,
                    pid: self.child.link.as_ref().map(|link| link.pid),
                    kind: self.machine.exit_kind(),
                    exit: status,
                    stderr_tail: stderr_tail.clone(),
                    at: Instant::now(),
                });
                self.child = ChildView::default();
                self.step(Event::Exited { generation, status, stderr_tail });
            }
        }
    }

    fn frame(&mut self, generation: Generation, frame: FromWorker) {
        match frame {
            FromWorker::Hello(hello) => {
                self.step(Event::Hello { generation, protocol: hello.protocol, verdict: hello.verdict });
            }
            FromWorker::Beat(beat) => self.beat(generation, &beat),
            FromWorker::Loaded(loaded) => {
                self.load_ended = Some(Instant::now());
                self.child.model = Some(loaded.model);
                self.child.load_ms = Some(loaded.load_ms);
                self.child.memory = Some(loaded.memory);
                self.step(Event::Loaded { generation });
            }
            FromWorker::LoadFailed(failed) => {
                self.step(Event::LoadFailed { generation, fault: failed.fault })
            }
            FromWorker::Accepted(accepted) => {
                let told = self.requests.accepted(&accepted);
                self.cut_if(told, accepted.request);
            }
            FromWorker::Pieces(pieces) => {
                let request = pieces.request;
                let told = self.requests.reply(request, ReplyEvent::Pieces(pieces));
                self.cut_if(told, request);
            }
            FromWorker::Finished(finished) => {
                self.child.memory = Some(finished.memory);
                let request = finished.request;
                self.step(Event::Ended { generation, request, end: RequestEnd::Finished(finished) });
            }
            FromWorker::Failed(failed) => {
                let end = RequestEnd::Faulted(failed.fault);
                self.step(Event::Ended { generation, request: failed.request, end });
            }
            FromWorker::Probed(probed) => {
                let end = RequestEnd::Probed(probed.report);
                self.step(Event::Ended { generation, request: probed.request, end });
            }
            FromWorker::Pong(_) => {}
        }
    }

    fn beat(&mut self, generation: Generation, beat: &Beat) {
        if self.child.take(beat) {
            let doing = Doing { phase: beat.phase, done: beat.done, total: beat.total, step: beat.step };
            self.step(Event::Advanced { generation, doing });
        }
        match (beat.phase, beat.request) {
            (Phase::Prefill, Some(request)) => self.requests.progress(request, beat.done, beat.total),
            (Phase::Loading | Phase::WarmingUp, _) => self.tell_waiting(),
            (Phase::Idle | Phase::Prefill | Phase::Decode | Phase::Probing, _) => {}
        }
    }

    pub(super) fn tell_waiting(&mut self) {
        let loads = matches!(self.machine.word(), StateWord::Starting | StateWord::Loading);
        let loading = self.load_begun.filter(|_| loads).map(|begun| {
            let doing = self.child.doing.map(|(_, doing)| doing);
            LoadProgress {
                phase: doing.map(|doing| doing.phase),
                done: doing.map_or(0, |doing| doing.done),
                total: doing.map_or(0, |doing| doing.total),
                elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            }
        });
        self.requests.tell_waiting(self.machine.waiting(), loading);
    }

    fn cut_if(&mut self, told: Result<(), TooSlow>, request: RequestId) {
        if let Err(TooSlow) = told {
            tracing::warn!(%request, "client reads too slowly, its request is cancelled");
            self.step(Event::Cancel(request));
        }
    }
}
