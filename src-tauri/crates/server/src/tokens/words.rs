//! Text counted word by word: short texts merge fast, and the library remembers the words it has merged.
//!
//! Where no token of a vocabulary stands across two words, nothing merges across them either.

use std::collections::HashSet;

use tokenizers::{Model, Tokenizer};

use super::encoder::SPACE;
use super::vocabulary::Written;

/// Longest word, in bytes; a text with a longer one is counted another way.
const WORD_BYTES: usize = 1024;

/// Which words hold no added token.
#[derive(Debug)]
pub(super) struct Words {
    /// First letters of the added tokens that text can become.
    firsts: HashSet<char>,
}

impl Words {
    /// Looks through a vocabulary; none where a token stands across words, or an added one begins as words do.
    pub(super) fn new(written: &Written) -> Option<Self> {
        let stands_across = |token: &str| {
            let spaced = token.replace(SPACE, " ");
            let bytes = spaced.as_bytes();
            bytes.windows(2).any(|pair| pair[0].is_ascii_alphanumeric() && pair[1] == b' ')
        };
        if written.texts().any(stands_across) {
            return None;
        }
        let added = || written.added_texts().map(|token| token.replace(SPACE, " "));
        let begins_a_word =
            |token: &[u8]| matches!(token, [b' '] | [b' ', b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z', ..]);
        if added().any(|token| begins_a_word(token.as_bytes())) {
            return None;
        }
        Some(Self { firsts: added().filter_map(|token| token.chars().next()).collect() })
    }

    /// The number of tokens, or one over `enough` soon after that is reached; none where it cannot be said.
    pub(super) fn count(&self, tokenizer: &Tokenizer, text: &str, enough: u64) -> Option<u64> {
        let mut counted = 0_u64;
        let mut start = 0;
        while start < text.len() && counted <= enough {
            let end = (start + 1..text.len()).find(|at| is_cut(text.as_bytes(), *at)).unwrap_or(text.len());
            let word = text.get(start..end).filter(|word| word.len() <= WORD_BYTES)?;
            counted += u64::try_from(self.tokens(tokenizer, word)?).ok()?;
            start = end;
        }
        Some(counted)
    }

    fn tokens(&self, tokenizer: &Tokenizer, word: &str) -> Option<usize> {
        // The space it begins with is of no added token.
        let inner = word.strip_prefix(' ').unwrap_or(word);
        if inner.chars().any(|letter| self.firsts.contains(if letter == SPACE { &' ' } else { &letter })) {
            return tokenizer.encode_fast(word, false).ok().map(|encoded| encoded.len());
        }
        let tokens = tokenizer.get_model().tokenize(&word.replace(' ', "\u{2581}"));
        tokens.ok().map(|tokens| tokens.len())
    }
}

/// Whether a word begins here: one space between two ASCII letters or digits.
fn is_cut(text: &[u8], at: usize) -> bool {
    let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    text.get(at) == Some(&b' ') && at > 0 && is_letter(at - 1) && is_letter(at + 1)
}
