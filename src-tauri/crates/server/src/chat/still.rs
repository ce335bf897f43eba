//! How far a request is that has no text yet, as its stream tells it.

use hangar_supervisor::{PrefillProgress, Start};
use serde::Serialize;

use crate::views::rounded_ms;

/// Progress of one request: its place in the queue, or how much of its prompt is read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Still {
    prompt_progress: PromptProgress,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<Place>,
}

/// Tokens of the prompt, 0 where not yet known; the time since the request came.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct PromptProgress {
    total: u64,
    cache: u64,
    processed: u64,
    time_ms: f64,
}

/// The place of a request that waits; 1 is the next to run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Place {
    position: u32,
    wait_ms: f64,
}

impl Still {
    /// A request that has just been admitted.
    pub(crate) fn new(prompt_tokens: Option<u64>) -> Self {
        let total = prompt_tokens.unwrap_or(0);
        Self { prompt_progress: PromptProgress { total, cache: 0, processed: 0, time_ms: 0.0 }, queue: None }
    }

    /// The same at this time after the request came.
    pub(crate) fn at(mut self, time_ms: f64) -> Self {
        self.prompt_progress.time_ms = rounded_ms(time_ms);
        if let Some(place) = &mut self.queue {
            place.wait_ms = self.prompt_progress.time_ms;
        }
        self
    }

    /// It waits in this place.
    pub(crate) fn queued(self, position: u32) -> Self {
        Self { queue: Some(Place { position, wait_ms: 0.0 }), ..self }
    }

    /// Its turn has come, and the model is being loaded.
    pub(crate) fn loading(self) -> Self {
        Self { queue: None, ..self }
    }

    /// Its prompt is being read.
    pub(crate) fn reading(mut self, progress: PrefillProgress) -> Self {
        let known = &mut self.prompt_progress;
        known.total = if progress.total_tokens == 0 { known.total } else { progress.total_tokens };
        (known.cache, known.processed) = (progress.cached_tokens, progress.processed_tokens);
        self.loading()
    }

    /// Its prompt is known to the worker.
    pub(crate) fn accepted(mut self, start: &Start) -> Self {
        let known = &mut self.prompt_progress;
        (known.total, known.cache) = (start.prompt_tokens.into(), start.cached_tokens.into());
        known.processed = known.processed.max(known.cache);
        self.loading()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_waits_tells_its_place_and_one_that_is_read_its_tokens() {
        let waiting = Still::new(Some(900)).queued(2).at(1500.0);
        let read =
            PrefillProgress { processed_tokens: 400, total_tokens: 900, cached_tokens: 100, elapsed_ms: 3 };
        let reading = waiting.reading(read).at(2500.0);
        insta::assert_json_snapshot!([waiting, reading]);
    }
}
