//! `GET /metrics`: counters and gauges of every profile, as Prometheus reads them.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hangar_supervisor::StateWord;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::app::App;
use crate::error::ApiError;
use crate::served::{Look, Roster};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// `GET /metrics`
pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    let text = text(&app.roster).map_err(|_| ApiError::Internal)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response())
}

fn text(roster: &Roster) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::with_prefix("hangar");
    registry.register_collector(Box::new(Figures { roster: roster.clone() }));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Reads the latest snapshots when it is asked; nothing is counted twice.
#[derive(Debug)]
struct Figures {
    roster: Roster,
}

type Counter = (&'static str, &'static str, fn(&Look<'_>) -> u64);
type Gauge = (&'static str, &'static str, fn(&Look<'_>) -> Option<u64>);

const COUNTERS: [Counter; 13] = [
    ("requests_answered", "Answers that ended in order", |look| look.snapshot.counters.successful_requests),
    ("requests_failed", "Requests that ended with an error", |look| look.snapshot.counters.failed_requests),
    ("requests_queued", "Requests that had to wait", |look| look.snapshot.counters.queued_requests),
    ("requests_over_capacity", "Requests refused because the queue was full", |look| {
        look.snapshot.counters.queue_full_rejections
    }),
    ("request_timeouts", "Requests over their limit", |look| look.snapshot.counters.request_timeouts),
    ("worker_starts", "Processes spawned", |look| look.snapshot.counters.worker_starts),
    ("worker_restarts", "Starts after a failure or by command", |look| {
        look.snapshot.counters.worker_restarts
    }),
    ("worker_unloads", "Unloads, idle or asked for", |look| look.snapshot.counters.worker_unloads),
    ("worker_out_of_memory", "Out-of-memory faults", |look| look.snapshot.counters.oom_events),
    ("worker_forced_kills", "Processes that had to be killed", |look| look.snapshot.counters.forced_kills),
    ("worker_startup_timeouts", "Starts or loads over their limit", |look| {
        look.snapshot.counters.startup_timeouts
    }),
    ("worker_probe_timeouts", "Health probes over their limit", |look| look.snapshot.counters.probe_timeouts),
    ("worker_shutdown_timeouts", "Shutdowns over their limit", |look| {
        look.snapshot.counters.shutdown_timeouts
    }),
];

const GAUGES: [Gauge; 8] = [
    ("worker_loaded", "Whether a model is in memory", |look| {
        Some(u64::from(matches!(look.snapshot.state, StateWord::Ready | StateWord::Busy)))
    }),
    ("worker_busy", "Whether a request runs", |look| Some(u64::from(look.snapshot.state == StateWord::Busy))),
    ("profile_available", "Whether backend and model are there", |look| {
        Some(u64::from(look.unavailable.is_none()))
    }),
    ("queue_depth", "Requests that wait", |look| Some(look.snapshot.queue_depth.into())),
    ("worker_consecutive_failures", "Failures in a row", |look| {
        Some(look.snapshot.consecutive_failures.into())
    }),
    ("worker_memory_active_bytes", "Held by arrays", |look| Some(look.snapshot.memory?.active_bytes)),
    ("worker_memory_peak_bytes", "Most ever held by arrays", |look| Some(look.snapshot.memory?.peak_bytes)),
    ("worker_memory_cache_bytes", "Kept for reuse", |look| Some(look.snapshot.memory?.cache_bytes)),
];

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let looks: Vec<Look<'_>> = self.roster.iter().map(|served| served.look()).collect();
        for (name, help, read) in COUNTERS {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for look in &looks {
                let labels = [("profile", look.profile.id.as_str())];
                ConstCounter::new(read(look)).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, read) in GAUGES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for look in &looks {
                // What is not known is left out, never zero.
                if let Some(value) = read(look) {
                    let value = i64::try_from(value).unwrap_or(i64::MAX);
                    let labels = [("profile", look.profile.id.as_str())];
                    ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}
