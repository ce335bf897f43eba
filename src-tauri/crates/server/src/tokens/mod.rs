//! How many tokens a rendered prompt has, counted without a worker and before one is loaded.

mod encoder;
mod vocabulary;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use hangar_protocol::{Prompt, Segment};
use tokio::sync::{Mutex, Semaphore};

use vocabulary::Vocabulary;

/// A prompt is counted whole up to this many windows; beyond it a lower bound has to do.
const COUNTED_WINDOWS: u64 = 8;

/// Size of a prompt, as far as it had to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptSize {
    /// It is no longer than this by its length in bytes alone, and fits.
    AtMost(u64),
    /// Counted.
    Exactly(u64),
    /// Far over the window; a lower bound.
    AtLeast(u64),
    /// The model's tokenizer cannot be read, which its worker will say with more right.
    Unknown,
}

/// Counts the prompts of one model; the tokenizer is read when it is first needed, and once.
#[derive(Debug)]
pub(crate) struct TokenCounter {
    model_dir: PathBuf,
    vocabulary: Mutex<Option<Arc<Vocabulary>>>,
    /// Counting takes a processor, so one prompt is counted at a time.
    turn: Arc<Semaphore>,
}

impl TokenCounter {
    /// A counter for the model in this folder.
    pub(crate) fn new(model_dir: PathBuf) -> Self {
        Self { model_dir, vocabulary: Mutex::new(None), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Measures a prompt that is to leave `answer_tokens` of a window; gives it back with its size.
    pub(crate) async fn measure(
        &self,
        prompt: Prompt,
        window_tokens: u32,
        answer_tokens: u32,
    ) -> (Prompt, PromptSize) {
        let Some(most) = most_tokens(&prompt) else { return (prompt, PromptSize::Unknown) };
        if most.saturating_add(u64::from(answer_tokens)) <= u64::from(window_tokens) {
            return (prompt, PromptSize::AtMost(most));
        }
        let Some(vocabulary) = self.vocabulary().await else { return (prompt, PromptSize::Unknown) };
        let Ok(turn) = Arc::clone(&self.turn).acquire_owned().await else {
            return (prompt, PromptSize::Unknown);
        };
        let prompt = Arc::new(prompt);
        let counted = Arc::clone(&prompt);
        let counting = tokio::task::spawn_blocking(move || {
            let size = count(&vocabulary, &counted, u64::from(window_tokens) * COUNTED_WINDOWS);
            drop((turn, counted));
            size
        });
        let size = counting.await.ok().flatten().unwrap_or(PromptSize::Unknown);
        (Arc::unwrap_or_clone(prompt), size)
    }

    async fn vocabulary(&self) -> Option<Arc<Vocabulary>> {
        let mut known = self.vocabulary.lock().await;
        if known.is_none() {
            let file = self.model_dir.join("tokenizer.json");
            let read = tokio::task::spawn_blocking(move || Vocabulary::read(&file)).await;
            match read {
                Ok(Ok(vocabulary)) => *known = Some(Arc::new(vocabulary)),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "prompts are not counted before they reach the worker")
                }
                Err(_) => tracing::error!("reading the tokenizer panicked"),
            }
        }
        known.clone()
    }
}

/// Every token of text is at least a byte of it, a written space at most three; none where media are in it.
fn most_tokens(prompt: &Prompt) -> Option<u64> {
    segments(prompt).try_fold(0_u64, |sum, segment| {
        let most = match segment {
            Segment::Text { text } => text.len() + 2 * text.bytes().filter(|byte| *byte == b' ').count(),
            Segment::Control { .. } => 1,
            Segment::Image { .. } | Segment::Audio { .. } => return None,
        };
        Some(sum.saturating_add(u64::try_from(most).unwrap_or(u64::MAX)))
    })
}

/// The exact count up to `enough`, beyond it a lower bound; none where the library fails.
fn count(vocabulary: &Vocabulary, prompt: &Prompt, enough: u64) -> Option<PromptSize> {
    let least = |segment: &Segment| match segment {
        Segment::Text { text } => vocabulary.least_tokens(text),
        Segment::Control { .. } | Segment::Image { .. } | Segment::Audio { .. } => 1,
    };
    let mut rest: u64 = segments(prompt).map(least).sum();
    let mut counted = 0_u64;
    for segment in segments(prompt) {
        if counted + rest > enough {
            return Some(PromptSize::AtLeast(counted + rest));
        }
        rest -= least(segment);
        counted += match segment {
            Segment::Text { text } => vocabulary.count(text, enough.saturating_sub(counted + rest))?,
            Segment::Control { .. } | Segment::Image { .. } | Segment::Audio { .. } => 1,
        };
    }
    Some(if counted > enough { PromptSize::AtLeast(counted) } else { PromptSize::Exactly(counted) })
}

fn segments(prompt: &Prompt) -> impl Iterator<Item = &Segment> {
    prompt.groups.iter().flat_map(|group| &group.segments)
}

#[cfg(test)]
mod tests;
