//! The answer's text: what may be a marker cut off by the limit of tokens is held back, notices stand apart.

/// Markers that a model begins in the middle of an answer.
const MARKERS: [&str; 2] = ["<|tool_call>", "<|channel>"];
/// A shorter beginning of a marker is taken for text.
const CUT_MARKER_LEAST: usize = 3;

/// Text on its way to the client.
#[derive(Debug, Default)]
pub(super) struct Visible {
    held: String,
    last: Last,
}

/// What the client has seen last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Newline,
    Text,
    Notice,
}

impl Visible {
    /// What of this text can be told now.
    pub(super) fn push(&mut self, text: &str) -> Option<String> {
        self.held.push_str(text);
        let held_bytes = marker_beginning(&self.held);
        let told = self.held.len() - held_bytes;
        let rest = self.held.split_off(told);
        let told = std::mem::replace(&mut self.held, rest);
        self.tell(told)
    }

    /// What was held back, now that it turned out to be text.
    pub(super) fn flush(&mut self) -> Option<String> {
        let told = std::mem::take(&mut self.held);
        self.tell(told)
    }

    /// What was held back, at the limit of tokens: the beginning of a marker is dropped.
    pub(super) fn flush_cut(&mut self) -> Option<String> {
        if self.held.len() >= CUT_MARKER_LEAST {
            self.held.clear();
        }
        self.flush()
    }

    /// A sentence of ours, in a paragraph of its own.
    pub(super) fn notice(&mut self, sentence: &str) -> String {
        let gap = match self.last {
            Last::Nothing | Last::Newline => "",
            Last::Text => "\n\n",
            Last::Notice => "\n",
        };
        self.last = Last::Notice;
        format!("{gap}{sentence}")
    }

    fn tell(&mut self, text: String) -> Option<String> {
        let end = text.chars().next_back()?;
        let parted = self.last == Last::Notice && !text.starts_with('\n');
        self.last = if end == '\n' { Last::Newline } else { Last::Text };
        Some(if parted { format!("\n\n{text}") } else { text })
    }
}

/// Length in bytes of the longest end of a text that a marker begins with.
fn marker_beginning(text: &str) -> usize {
    let longest = |marker: &&str| (1..marker.len()).rev().find(|length| text.ends_with(&marker[..*length]));
    MARKERS.iter().filter_map(longest).max().unwrap_or(0)
}
