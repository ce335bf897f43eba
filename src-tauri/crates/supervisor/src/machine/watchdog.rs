//! Progress is not liveness: a child whose counters stand still is stuck, however well its pipe beats.

use hangar_protocol::{Phase, RequestId};

use super::{Doing, Effect, How, Machine, Outcome, State, Then, Timer};
use crate::{Cause, DispatchError};

/// How long a child that is stuck may take to write the stacks of its threads.
const DUMP_MS: u64 = 1_000;

impl Machine {
    /// The counters moved: the watch begins anew, with the limit of what is being done now.
    pub(super) fn advanced(&mut self, doing: Doing, effects: &mut Vec<Effect>) {
        match self.state {
            State::Loading | State::Busy { .. } => {
                self.doing = doing;
                self.arm_watch(effects);
            }
            State::Starting
            | State::Ready
            | State::Stopping { .. }
            | State::Unloaded
            | State::Backoff
            | State::Failed { .. }
            | State::Closed => {}
        }
    }

    /// Begins to watch work that was just handed over.
    pub(super) fn watch(&mut self, phase: Phase, effects: &mut Vec<Effect>) {
        self.doing = Doing { phase, done: 0, total: 0, step: 0 };
        self.arm_watch(effects);
    }

    /// How long a cancelled request may go on: it stops at the end of the step under way.
    pub(super) fn cancel_grace_ms(&self) -> u64 {
        let step_ms = self.limits.stall.of_step(self.doing.phase, self.doing.step);
        self.limits.cancel_grace_ms.saturating_add(step_ms)
    }

    pub(super) fn stalled(&mut self, mark: u64, effects: &mut Vec<Effect>) {
        let works = matches!(self.state, State::Loading | State::Busy { .. });
        if mark != self.mark || !works {
            return;
        }
        let Doing { phase, done, total, .. } = self.doing;
        let limit_ms = self.stall_ms();
        self.is_stuck(Cause::Stalled { phase, done, total, limit_ms, stderr_tail: Vec::new() }, effects);
    }

    /// A process that is stopped or starved does not even beat; asking it to end would be in vain.
    pub(super) fn fell_silent(&mut self, effects: &mut Vec<Effect>) {
        self.is_stuck(Cause::Silent, effects);
    }

    /// Ends a child that cannot be asked, its stacks written first if it still can.
    pub(super) fn dump_and_kill(&mut self, then: Then, effects: &mut Vec<Effect>) {
        self.enter(State::Stopping { then, how: How::Dumping });
        effects.push(Effect::DumpStacks);
        self.arm_state(DUMP_MS, effects);
    }

    fn is_stuck(&mut self, cause: Cause, effects: &mut Vec<Effect>) {
        match self.state {
            State::Loading | State::Ready => self.dump_and_kill(Then::Retry(cause), effects),
            State::Busy { request, cancelling } => {
                if !cancelling {
                    self.end_stuck(request, &cause, effects);
                }
                self.dump_and_kill(Then::Retry(cause), effects);
            }
            State::Starting
            | State::Stopping { .. }
            | State::Unloaded
            | State::Backoff
            | State::Failed { .. }
            | State::Closed => {}
        }
    }

    fn end_stuck(&mut self, request: RequestId, cause: &Cause, effects: &mut Vec<Effect>) {
        let error = DispatchError::Stalled { cause: cause.clone() };
        self.complete(request, Outcome::Failed(error), effects);
    }

    fn arm_watch(&mut self, effects: &mut Vec<Effect>) {
        self.mark += 1;
        let timer = Timer::Stall { generation: self.generation, mark: self.mark };
        effects.push(Effect::Arm { timer, after_ms: self.stall_ms() });
    }

    fn stall_ms(&self) -> u64 {
        self.limits.stall.of(self.doing.phase, self.doing.step)
    }
}
