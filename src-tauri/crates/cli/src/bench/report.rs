//! The figures of a bench as a table and as JSON.

use serde::Serialize;

use super::spread::Spread;
use crate::say;

/// One figure with its bar.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) found: Spread,
    /// What it is measured against, if anything.
    pub(crate) against: Option<String>,
    pub(crate) bar: Option<Bar>,
    pub(crate) held: Option<bool>,
}

/// What the median must not be over, or under.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Row {
    pub(crate) fn new(
        what: impl Into<String>,
        unit: &'static str,
        found: Spread,
        against: Option<&str>,
        bar: Option<Bar>,
    ) -> Self {
        let held = bar.map(|bar| match bar {
            Bar::AtMost(limit) => found.median <= limit,
            Bar::AtLeast(limit) => found.median >= limit,
        });
        Self { what: what.into(), unit, found, against: against.map(str::to_owned), bar, held }
    }
}

/// All figures of one run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) rounds: u32,
    pub(crate) rows: Vec<Row>,
    /// What was not measured, and why.
    pub(crate) left_out: Vec<String>,
}

impl Report {
    pub(crate) fn text(&self) -> String {
        let header = ["figure", "median", "least", "most", "unit", "against", "bar", ""].map(str::to_owned);
        let body = self.rows.iter().map(|row| {
            let number = |value: f64| {
                if value.abs() < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") }
            };
            let bar = match row.bar {
                None => String::new(),
                Some(Bar::AtMost(limit)) => format!("<= {limit}"),
                Some(Bar::AtLeast(limit)) => format!(">= {limit}"),
            };
            let held = match row.held {
                None => "",
                Some(true) => "held",
                Some(false) => "MISSED",
            };
            [
                row.what.clone(),
                number(row.found.median),
                number(row.found.least),
                number(row.found.most),
                row.unit.to_owned(),
                row.against.clone().unwrap_or_default(),
                bar,
                held.to_owned(),
            ]
        });
        let mut text = say::table(&[header].into_iter().chain(body).collect::<Vec<_>>());
        text.push_str(&format!("\nmedians of {} interleaved rounds; ratios pair by pair", self.rounds));
        for reason in &self.left_out {
            text.push_str(&format!("\nleft out: {reason}"));
        }
        text
    }
}
