//! What a session may do: what its creator asked for, within what is configured.

use hangar_config::SessionSettings;
use serde::Serialize;

use crate::error::ApiError;
use crate::json::Field;

/// Limits of one session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Policy {
    /// Life after the last turn, in seconds.
    pub(crate) ttl_s: f64,
    /// Most turns.
    pub(crate) max_turns: u32,
    /// Most tokens of context.
    pub(crate) max_context_tokens: u32,
    /// Most seconds of sound in a turn.
    pub(crate) audio_seconds_per_turn: f64,
    /// What a turn that does not fit leads to.
    #[serde(rename = "onOverflow")]
    on_overflow: &'static str,
    /// What was asked for and is over its limit.
    clamped: Vec<&'static str>,
}

impl Policy {
    /// Life after the last turn, in milliseconds.
    pub(crate) fn ttl_ms(&self) -> u64 {
        milliseconds(self.ttl_s)
    }

    /// Most sound in a turn, in milliseconds.
    pub(crate) fn audio_limit_ms(&self) -> u64 {
        milliseconds(self.audio_seconds_per_turn)
    }
}

/// Reads a policy; what is left out is as configured, and what is too much is as much as may be.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read(
    root: &Field<'_>,
    settings: &SessionSettings,
    window_tokens: u32,
) -> Result<Policy, ApiError> {
    let mut clamped = Vec::new();
    let positive = "a number over 0";
    let seconds = |field: &Field<'_>| field.number(positive, |found| found > 0.0);
    let whole = |field: &Field<'_>| {
        let count = field.value().as_u64().filter(|count| *count > 0);
        count.ok_or_else(|| field.unlike("a whole number of at least 1"))
    };
    let ttl_s = match root.get("ttl_s") {
        None => settings.ttl_s,
        Some(field) => at_most(seconds(&field)?, settings.most.ttl_s, "ttl_s", &mut clamped),
    };
    let max_turns = match root.get("max_turns") {
        None => settings.max_turns,
        Some(field) => at_most_whole(whole(&field)?, settings.most.turns, "max_turns", &mut clamped),
    };
    let max_context_tokens = match root.get("max_context_tokens") {
        None => settings.max_context_tokens.min(window_tokens),
        Some(field) => at_most_whole(whole(&field)?, window_tokens, "max_context_tokens", &mut clamped),
    };
    let audio_seconds_per_turn = match root.get("audio_seconds_per_turn") {
        None => settings.audio_seconds_per_turn,
        Some(field) => {
            let most = settings.most.audio_seconds_per_turn;
            at_most(seconds(&field)?, most, "audio_seconds_per_turn", &mut clamped)
        }
    };
    if let Some(field) = root.get("onOverflow")
        && field.text("reject")? != "reject"
    {
        return Err(field.unsupported("a turn that does not fit is refused; send reject or leave it out"));
    }
    Ok(Policy {
        ttl_s,
        max_turns,
        max_context_tokens,
        audio_seconds_per_turn,
        on_overflow: "reject",
        clamped,
    })
}

fn at_most(asked: f64, most: f64, name: &'static str, clamped: &mut Vec<&'static str>) -> f64 {
    if asked > most {
        clamped.push(name);
    }
    asked.min(most)
}

fn at_most_whole(asked: u64, most: u32, name: &'static str, clamped: &mut Vec<&'static str>) -> u32 {
    let fits = u32::try_from(asked).ok().filter(|asked| *asked <= most);
    fits.unwrap_or_else(|| {
        clamped.push(name);
        most
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number of seconds")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use hangar_config::SessionLimits;
    use serde_json::{Value, json};

    use super::*;

    fn of(body: &Value) -> Result<Policy, ApiError> {
        let settings = SessionSettings {
            ttl_s: 300.0,
            max_turns: 16,
            max_context_tokens: 20_000,
            audio_seconds_per_turn: 45.0,
            most: SessionLimits { ttl_s: 300.0, turns: 16, audio_seconds_per_turn: 45.0 },
            reaper_interval_s: 5.0,
            max_sessions: 4,
            durable: false,
        };
        read(&Field::root(body), &settings, 30_000)
    }

    #[test]
    fn what_is_left_out_is_as_configured_and_what_is_too_much_is_clamped_and_said() {
        let plain = of(&json!({})).unwrap();
        assert_eq!((plain.ttl_s, plain.max_turns, plain.max_context_tokens), (300.0, 16, 20_000));
        assert!(plain.clamped.is_empty());
        let asked = json!({
            "ttl_s": 900, "max_turns": 1e3 as u64, "max_context_tokens": 40_000, "audio_seconds_per_turn": 46.5,
        });
        let clamped = of(&asked).unwrap();
        let figures =
            (clamped.ttl_s, clamped.max_turns, clamped.max_context_tokens, clamped.audio_seconds_per_turn);
        assert_eq!(figures, (300.0, 16, 30_000, 45.0));
        assert_eq!(clamped.clamped, ["ttl_s", "max_turns", "max_context_tokens", "audio_seconds_per_turn"]);
        let less = of(&json!({"ttl_s": 0.5, "max_turns": 1, "onOverflow": "reject"})).unwrap();
        assert_eq!((less.ttl_s, less.max_turns, less.clamped.len()), (0.5, 1, 0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        for (field, value) in [
            ("ttl_s", json!(0)),
            ("ttl_s", json!("soon")),
            ("max_turns", json!(0)),
            ("max_turns", json!(1.5)),
            ("max_context_tokens", json!(-1)),
            ("audio_seconds_per_turn", json!([])),
            ("onOverflow", json!("truncate")),
        ] {
            assert_eq!(of(&json!({ field: value })).unwrap_err().param(), Some(field));
        }
    }
}
