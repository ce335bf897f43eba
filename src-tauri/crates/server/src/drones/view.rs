//! Sessions as clients see them.

use std::sync::Arc;

use serde::Serialize;

use super::drone::{Drone, Said, Stage, Turn};
use super::policy::Policy;
use super::store::{Seen, Setup};
use crate::media::Clip;

/// One session.
#[derive(Debug, Serialize)]
pub(crate) struct DroneView {
    session_id: String,
    state: &'static str,
    profile: String,
    model: String,
    /// Unix seconds, as all times here.
    created_at: u64,
    last_active_at: u64,
    expires_at: u64,
    expires_in_s: f64,
    turn_count: usize,
    /// Tokens of its context.
    context_tokens: u32,
    /// Bytes of its state; what it shares with a fork is counted in both.
    state_bytes: u64,
    policy: Policy,
    worker_binding: Option<Binding>,
}

/// The worker process that has a session's state.
#[derive(Debug, Serialize)]
struct Binding {
    generation: u64,
    pid: Option<u32>,
}

/// All sessions.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    object: &'static str,
    data: Vec<DroneView>,
}

/// What was said in a session.
#[derive(Debug, Serialize)]
pub(crate) struct Transcript {
    session_id: String,
    turns: Vec<TurnView>,
}

#[derive(Debug, Serialize)]
struct TurnView {
    turn_index: usize,
    at: u64,
    parts: Vec<PartView>,
    completion: Completed,
    /// The clips that its sound became, in order.
    audio_segments: Vec<Clip>,
    context_tokens: u32,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PartView {
    Text { text: String },
    Image { mime_type: &'static str, bytes: usize },
    Audio { mime_type: &'static str, bytes: usize },
    ToolResult { tool_call_id: Option<String>, content: String },
}

#[derive(Debug, Serialize)]
struct Completed {
    text: String,
    finish_reason: &'static str,
}

impl DroneView {
    /// The session as it was seen.
    pub(crate) fn of(seen: Seen) -> Self {
        let expires_at = seen.expires_at();
        let Seen { drone, now_ms, unix_s } = seen;
        let profile = drone.setup.served.profile();
        let left_ms = drone.expires_ms().saturating_sub(now_ms);
        let (context_tokens, state_bytes) =
            drone.turns.last().map_or((0, 0), |turn| (turn.kept.context_tokens, turn.kept.bytes));
        Self {
            state: state(&drone, left_ms),
            profile: profile.id.to_string(),
            model: profile.model_id.clone(),
            created_at: drone.created_at,
            last_active_at: unix_s.saturating_sub(now_ms.saturating_sub(drone.active_ms) / 1000),
            expires_at,
            expires_in_s: std::time::Duration::from_millis(left_ms).as_secs_f64(),
            turn_count: drone.turns.len(),
            context_tokens,
            state_bytes,
            worker_binding: binding(&drone),
            session_id: drone.id,
            policy: drone.policy,
        }
    }
}

impl Seen {
    /// When its time is over, in unix seconds.
    pub(crate) fn expires_at(&self) -> u64 {
        self.unix_s + self.drone.expires_ms().saturating_sub(self.now_ms).div_ceil(1000)
    }
}

impl Listed {
    /// All that were seen.
    pub(crate) fn of(seen: Vec<Seen>) -> Self {
        Self { object: "list", data: seen.into_iter().map(DroneView::of).collect() }
    }
}

impl Transcript {
    /// What was said until it was seen.
    pub(crate) fn of(seen: Seen) -> Self {
        let turns = seen.drone.turns.into_iter().enumerate().map(|(at, turn)| turn_view(at + 1, turn));
        Self { session_id: seen.drone.id, turns: turns.collect() }
    }
}

fn state(drone: &Drone<Arc<Setup>>, left_ms: u64) -> &'static str {
    match drone.stage {
        Stage::Lost => "lost",
        Stage::Turning(_) => "busy",
        Stage::Idle if left_ms == 0 => "expired",
        Stage::Idle => "active",
    }
}

fn binding(drone: &Drone<Arc<Setup>>) -> Option<Binding> {
    let generation = drone.generation.filter(|_| drone.stage != Stage::Lost)?;
    Some(Binding { generation, pid: drone.setup.served.snapshot().pid })
}

fn turn_view(turn_index: usize, turn: Turn) -> TurnView {
    let part = |said| match said {
        Said::Text(text) => PartView::Text { text },
        Said::Image { mime_type, bytes } => PartView::Image { mime_type, bytes },
        Said::Audio { mime_type, bytes } => PartView::Audio { mime_type, bytes },
        Said::ToolResult { call_id, text } => PartView::ToolResult { tool_call_id: call_id, content: text },
    };
    TurnView {
        turn_index,
        at: turn.at,
        parts: turn.parts.into_iter().map(part).collect(),
        completion: Completed { text: turn.text, finish_reason: turn.finish_reason },
        audio_segments: turn.clips,
        context_tokens: turn.kept.context_tokens,
    }
}
