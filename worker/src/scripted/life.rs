//! What a scripted worker is told to do.

use std::path::Path;

use hangar_protocol::{PROTOCOL_VERSION, Piece, Verdict, WorkerFault};
use serde_json::Value;

/// What one life of the worker does.
#[derive(Clone, Debug)]
pub struct Life {
    /// Time before the hello, in milliseconds.
    pub hello_delay_ms: u64,
    /// Protocol version to claim.
    pub protocol: u32,
    /// Runtime verdict to claim.
    pub verdict: Verdict,
    /// Time to load, in milliseconds.
    pub load_delay_ms: u64,
    /// Fault to fail the load with.
    pub load_fault: Option<WorkerFault>,
    /// Pieces of an answer, sent one by one; written as strings where they are text.
    pub pieces: Vec<Piece>,
    /// Pieces of the first answers of this life, one list an answer; after the last of them, the last one again.
    pub answers: Vec<Vec<Piece>>,
    /// Window to claim; a request over it fails as a real one does.
    pub window_tokens: u32,
    /// Chunks in which a prompt is read.
    pub prefill_chunks: u32,
    /// Time for each chunk, in milliseconds.
    pub chunk_delay_ms: u64,
    /// Where it stops for ever while it beats on.
    pub wedge_in: Option<WedgeIn>,
    /// Time before each piece, in milliseconds.
    pub piece_delay_ms: u64,
    /// Bytes without a newline that go to standard error in an answer.
    pub stderr_flood_bytes: u32,
    /// How an answer ends.
    pub ending: Ending,
    /// The fault of an answer that ends with one.
    pub fault: WorkerFault,
    /// Whether cancels are looked at.
    pub heeds_cancel: bool,
    /// Whether a shutdown is carried out.
    pub heeds_shutdown: bool,
    /// Whether beats are sent.
    pub beats: bool,
}

/// Where a scripted worker gets stuck; in an answer, after its pieces, it does by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WedgeIn {
    /// While it loads.
    Load,
    /// After the first chunk of a prompt.
    Prefill,
}

/// How a scripted answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// In order.
    Finish,
    /// At the token limit.
    Length,
    /// The process ends with [`STATUS_SCRIPTED_CRASH`].
    Crash,
    /// The process ends with status 0.
    ExitInOrder,
    /// Nothing more comes.
    Wedge,
    /// A line that is not a frame.
    Garbage,
    /// A line over the limit.
    Oversized,
    /// The first half of a frame, and then the process ends with status 0.
    HalfFrame,
    /// A frame with bytes that are no UTF-8 inside a string.
    NotUtf8,
    /// The life's fault.
    Fault,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            hello_delay_ms: 0,
            protocol: PROTOCOL_VERSION,
            verdict: Verdict::Verified,
            load_delay_ms: 0,
            load_fault: None,
            pieces: vec![text("hello "), text("world")],
            answers: Vec::new(),
            window_tokens: u32::MAX,
            prefill_chunks: 0,
            chunk_delay_ms: 0,
            wedge_in: None,
            piece_delay_ms: 0,
            stderr_flood_bytes: 0,
            ending: Ending::Finish,
            fault: WorkerFault::Engine { what: "ScriptedError".to_owned() },
            heeds_cancel: true,
            heeds_shutdown: true,
            beats: true,
        }
    }
}

impl Life {
    /// Reads a life from JSON; keys left out keep their defaults, unknown words are an error.
    ///
    /// # Errors
    /// Names the key that cannot be read.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let mut life = Self::default();
        let Some(object) = value.as_object() else {
            return Err("a life is an object".into());
        };
        for (key, value) in object {
            let wrong = || format!("key {key} has a value that cannot be used: {value}");
            match key.as_str() {
                "hello_delay_ms" => life.hello_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "protocol" => life.protocol = serde_json::from_value(value.clone()).map_err(|_| wrong())?,
                "verdict" => life.verdict = serde_json::from_value(value.clone()).map_err(|_| wrong())?,
                "load_delay_ms" => life.load_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "load_fault" => {
                    life.load_fault = serde_json::from_value(value.clone()).map_err(|_| wrong())?
                }
                "pieces" => life.pieces = pieces_of(value).ok_or_else(wrong)?,
                "answers" => {
                    let lists = value.as_array().ok_or_else(wrong)?;
                    life.answers = lists.iter().map(pieces_of).collect::<Option<_>>().ok_or_else(wrong)?;
                }
                "window_tokens" => {
                    life.window_tokens = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
                }
                "prefill_chunks" => {
                    life.prefill_chunks = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
                }
                "chunk_delay_ms" => life.chunk_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "wedge_in" => {
                    life.wedge_in = Some(match value.as_str() {
                        Some("load") => WedgeIn::Load,
                        Some("prefill") => WedgeIn::Prefill,
                        _ => return Err(wrong()),
                    });
                }
                "piece_delay_ms" => life.piece_delay_ms = value.as_u64().ok_or_else(wrong)?,
                "stderr_flood_bytes" => {
                    life.stderr_flood_bytes = serde_json::from_value(value.clone()).map_err(|_| wrong())?;
                }
                "ending" => life.ending = value.as_str().and_then(Ending::from_word).ok_or_else(wrong)?,
                "fault" => life.fault = serde_json::from_value(value.clone()).map_err(|_| wrong())?,
                "heeds_cancel" => life.heeds_cancel = value.as_bool().ok_or_else(wrong)?,
                "heeds_shutdown" => life.heeds_shutdown = value.as_bool().ok_or_else(wrong)?,
                "beats" => life.beats = value.as_bool().ok_or_else(wrong)?,
                _ => return Err(format!("key {key} is unknown")),
            }
        }
        Ok(life)
    }
}

impl Life {
    /// The pieces of this life's answer with this number, counted from 0.
    pub(super) fn answer(&self, number: usize) -> &[Piece] {
        self.answers.get(number).or(self.answers.last()).unwrap_or(&self.pieces)
    }
}

impl Ending {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "finish" => Self::Finish,
            "length" => Self::Length,
            "crash" => Self::Crash,
            "exit_in_order" => Self::ExitInOrder,
            "wedge" => Self::Wedge,
            "garbage" => Self::Garbage,
            "oversized" => Self::Oversized,
            "half_frame" => Self::HalfFrame,
            "not_utf8" => Self::NotUtf8,
            "fault" => Self::Fault,
            _ => return None,
        })
    }
}

/// Picks the life of this start: the script file holds an array of lives, and a counter beside it says how
/// often it was started; the last life repeats.
///
/// # Errors
/// What cannot be read, as text for the log.
pub fn next_life(script: &Path) -> Result<Life, String> {
    let text = std::fs::read_to_string(script).map_err(|error| error.to_string())?;
    let lives: Vec<Value> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let counter = script.with_extension("starts");
    let starts =
        std::fs::read_to_string(&counter).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0_usize);
    std::fs::write(&counter, (starts + 1).to_string()).map_err(|error| error.to_string())?;
    let life = lives.get(starts).or(lives.last()).ok_or("a script holds at least one life")?;
    Life::from_json(life)
}

fn text(text: &str) -> Piece {
    Piece::Text { text: text.to_owned() }
}

fn pieces_of(value: &Value) -> Option<Vec<Piece>> {
    value.as_array()?.iter().map(piece_of).collect()
}

fn piece_of(value: &Value) -> Option<Piece> {
    match value.as_str() {
        Some(written) => Some(text(written)),
        None => serde_json::from_value(value.clone()).ok(),
    }
}
