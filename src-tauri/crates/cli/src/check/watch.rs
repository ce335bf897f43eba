//! Watching a server from the side while something else happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Failure;
use crate::service::Service;

const PAUSE: Duration = Duration::from_millis(20);

/// What was seen meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// The worker's states, each once in a row.
    pub(crate) states: Vec<String>,
    /// Answers of `/health` that were not good.
    pub(crate) bad_health: usize,
    /// Answers of `/health`.
    pub(crate) health: usize,
    /// Slowest answer of `/health`, in milliseconds.
    pub(crate) slowest_ms: f64,
}

impl Seen {
    /// Whether every `/health` was good.
    pub(crate) fn stayed_healthy(&self) -> bool {
        self.health > 0 && self.bad_health == 0
    }

    /// The states in their order, for a person.
    pub(crate) fn walk(&self) -> String {
        self.states.join(", ")
    }
}

/// Does something, and asks `/health` and `/ready` again and again until it is over.
///
/// # Errors
/// What the work failed with.
pub(crate) fn during<T: Send>(
    service: &Service,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> Result<(T, Seen), Failure> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = Seen::default();
            while !over.load(Ordering::Relaxed) {
                look(service, &mut seen);
                std::thread::park_timeout(PAUSE);
            }
            seen
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        let seen = watching.join().unwrap_or_default();
        Ok((done?, seen))
    })
}

fn look(service: &Service, seen: &mut Seen) {
    let began = Instant::now();
    let healthy =
        service.get("/health").is_ok_and(|health| health.status == 200 && health.body["ok"] == true);
    seen.health += 1;
    seen.bad_health += usize::from(!healthy);
    seen.slowest_ms = seen.slowest_ms.max(began.elapsed().as_secs_f64() * 1000.0);
    if let Ok((_, worker)) = service.ready()
        && let Some(state) = worker["state"].as_str()
        && seen.states.last().is_none_or(|last| last != state)
    {
        seen.states.push(state.to_owned());
    }
}
