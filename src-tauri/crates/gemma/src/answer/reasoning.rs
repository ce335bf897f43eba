//! Thinking, without the newlines around its blocks.

/// Joins blocks of thinking by one newline, however they are cut.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    has_text: bool,
    block_has_text: bool,
    newlines_held: usize,
}

impl Reasoning {
    pub(super) fn begin_block(&mut self) {
        self.block_has_text = false;
        self.newlines_held = 0;
    }

    /// What of this text can be told now.
    pub(super) fn push(&mut self, text: &str) -> Option<String> {
        let text = if self.block_has_text { text } else { text.trim_start_matches('\n') };
        let told = text.trim_end_matches('\n');
        let mut out = String::new();
        if !told.is_empty() {
            if self.has_text && !self.block_has_text {
                out.push('\n');
            }
            out.extend(std::iter::repeat_n('\n', self.newlines_held));
            out.push_str(told);
            self.has_text = true;
            self.block_has_text = true;
            self.newlines_held = 0;
        }
        if self.block_has_text {
            self.newlines_held += text.len() - told.len();
        }
        (!out.is_empty()).then_some(out)
    }
}
