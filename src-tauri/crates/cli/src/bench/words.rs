//! Prompts that no cache can know: words in an order that never comes again.

const WORDS: [&str; 16] = [
    "amber", "violet", "cobalt", "silver", "lantern", "compass", "window", "falcon", "harbor", "willow",
    "one", "two", "three", "four", "five", "six",
];

/// Seeded source of word lists.
#[derive(Debug)]
pub(crate) struct Words(u64);

impl Words {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A text of this many words.
    pub(crate) fn text(&mut self, count: usize) -> String {
        let mut words = Vec::with_capacity(count);
        for _ in 0..count {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            words.push(WORDS[usize::try_from(self.0 % 16).unwrap_or(0)]);
        }
        words.join(" ")
    }
}
