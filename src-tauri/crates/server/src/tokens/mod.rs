//! How many tokens a rendered prompt has, counted without a worker and before one is loaded.

mod encoder;
mod senses;
mod vocabulary;
mod words;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use hangar_protocol::{Prompt, Segment};
use tokio::sync::{Mutex, Semaphore};

use senses::Sight;
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
    /// How its processor cuts pictures up.
    sight: OnceLock<Sight>,
    /// Counting takes a processor, so one prompt is counted at a time.
    turn: Arc<Semaphore>,
}

impl TokenCounter {
    /// A counter for the model in this folder.
    pub(crate) fn new(model_dir: PathBuf) -> Self {
        Self {
            model_dir,
            vocabulary: Mutex::new(None),
            sight: OnceLock::new(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Measures a prompt that is to leave `answer_tokens` of a window; gives it back with its size.
    pub(crate) async fn measure(
        &self,
        prompt: Prompt,
        window_tokens: u32,
        answer_tokens: u32,
    ) -> (Prompt, PromptSize) {
        let has_image = segments(&prompt).any(|segment| matches!(segment, Segment::Image { .. }));
        let sight = has_image.then(|| *self.sight.get_or_init(|| Sight::read(&self.model_dir)));
        let most = most_tokens(&prompt, sight);
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
            let size = count(&vocabulary, &counted, sight, u64::from(window_tokens) * COUNTED_WINDOWS);
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

/// Every token of text is at least a byte of it, a written space at most three.
fn most_tokens(prompt: &Prompt, sight: Option<Sight>) -> u64 {
    segments(prompt).fold(0_u64, |sum, segment| {
        let most = match segment {
            Segment::Text { text } => {
                let bytes = text.len() + 2 * text.bytes().filter(|byte| *byte == b' ').count();
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
            Segment::Control { .. } => 1,
            Segment::Image { media } | Segment::Audio { media } => sensed(prompt, *media, sight),
        };
        sum.saturating_add(most)
    })
}

/// The exact count up to `enough`, beyond it a lower bound; none where the library fails.
fn count(vocabulary: &Vocabulary, prompt: &Prompt, sight: Option<Sight>, enough: u64) -> Option<PromptSize> {
    let least = |segment: &Segment| match segment {
        Segment::Text { text } => vocabulary.least_tokens(text),
        Segment::Control { .. } => 1,
        Segment::Image { media } | Segment::Audio { media } => sensed(prompt, *media, sight),
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
            Segment::Control { .. } => 1,
            Segment::Image { media } | Segment::Audio { media } => sensed(prompt, *media, sight),
        };
    }
    Some(if counted > enough { PromptSize::AtLeast(counted) } else { PromptSize::Exactly(counted) })
}

fn sensed(prompt: &Prompt, media: u32, sight: Option<Sight>) -> u64 {
    let media = usize::try_from(media).ok().and_then(|index| prompt.media.get(index));
    senses::tokens(media, sight)
}

fn segments(prompt: &Prompt) -> impl Iterator<Item = &Segment> {
    prompt.groups.iter().flat_map(|group| &group.segments)
}

#[cfg(test)]
mod tests;
