//! Text counted word by word: short texts merge fast, and the library remembers the words it has merged.
//!
//! Tokens in a row are what a text encodes to if each two neighbours are what those two alone encode to. Within a
//! word that holds by itself; where two words meet it is asked, and words that do not hold apart are encoded as one.

use std::collections::{HashMap, HashSet};

use tokenizers::{Model, Tokenizer};

use super::encoder::SPACE;

/// Longest word, in bytes; a text with a longer one is counted another way.
const WORD_BYTES: usize = 1024;

/// Where text may be cut, and which words hold no added token.
#[derive(Debug)]
pub(super) struct Words {
    /// First letters of the added tokens that text can become.
    firsts: HashSet<char>,
    added: HashSet<u32>,
}

/// A stretch of text and its tokens.
struct Word {
    start: usize,
    end: usize,
    tokens: usize,
    first: u32,
    last: u32,
}

impl Words {
    /// Takes the added tokens that text can become; none where one of them could stand across a cut.
    pub(super) fn new<'a>(tokenizer: &Tokenizer, added: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut words = Self { firsts: HashSet::new(), added: HashSet::new() };
        for token in added {
            let spaced = token.replace(SPACE, " ");
            let bytes = spaced.as_bytes();
            let begins_a_word = matches!(bytes, [b' '] | [b' ', b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z', ..]);
            if begins_a_word || (1..bytes.len()).any(|at| is_cut(bytes, at)) {
                return None;
            }
            words.firsts.extend(spaced.chars().next());
            words.added.extend(tokenizer.token_to_id(token));
        }
        Some(words)
    }

    /// The number of tokens, or one over `enough` soon after that is reached; none where it cannot be said.
    pub(super) fn count(&self, tokenizer: &Tokenizer, text: &str, enough: u64) -> Option<u64> {
        let mut counted = 0_usize;
        let mut words: Vec<Word> = Vec::new();
        let mut borders = HashMap::new();
        let mut start = 0;
        while start < text.len() {
            let end = (start + 1..text.len()).find(|at| is_cut(text.as_bytes(), *at)).unwrap_or(text.len());
            let mut word = self.word(tokenizer, text, start, end)?;
            // What was joined has a new beginning, which is to hold against the word before it.
            while let Some(before) = words.last() {
                let border = (before.last, word.first);
                if *borders.entry(border).or_insert_with(|| self.holds(tokenizer, border)) {
                    break;
                }
                counted -= before.tokens;
                word = self.word(tokenizer, text, before.start, end)?;
                words.pop();
            }
            if u64::try_from(counted).ok()? > enough {
                break;
            }
            counted += word.tokens;
            start = word.end;
            words.push(word);
        }
        u64::try_from(counted).ok()
    }

    fn word(&self, tokenizer: &Tokenizer, text: &str, start: usize, end: usize) -> Option<Word> {
        let word = text.get(start..end).filter(|word| word.len() <= WORD_BYTES)?;
        let made = |tokens, first: Option<&u32>, last: Option<&u32>| {
            Some(Word { start, end, tokens, first: *first?, last: *last? })
        };
        // The space it begins with is of no added token.
        let inner = word.strip_prefix(' ').unwrap_or(word);
        if inner.chars().any(|letter| self.firsts.contains(if letter == SPACE { &' ' } else { &letter })) {
            let encoded = tokenizer.encode_fast(word, false).ok()?;
            let ids = encoded.get_ids();
            return made(ids.len(), ids.first(), ids.last());
        }
        let tokens = tokenizer.get_model().tokenize(&word.replace(' ', "\u{2581}")).ok()?;
        made(tokens.len(), tokens.first().map(|token| &token.id), tokens.last().map(|token| &token.id))
    }

    /// Whether two neighbours are what those two alone encode to.
    fn holds(&self, tokenizer: &Tokenizer, (left, right): (u32, u32)) -> bool {
        let model = tokenizer.get_model();
        let texts = [left, right].map(|id| model.id_to_token(id).filter(|_| !self.added.contains(&id)));
        let [Some(left_text), Some(right_text)] = texts else { return false };
        // A byte of a character is written by its number.
        let is_byte = |text: &str| text.starts_with("<0x") && text.len() == 6;
        if is_byte(&left_text) || is_byte(&right_text) {
            return false;
        }
        let together = model.tokenize(&(left_text + &right_text));
        together.is_ok_and(|tokens| tokens.iter().map(|token| token.id).eq([left, right]))
    }
}

/// Whether a word begins here: one space between two ASCII letters or digits.
fn is_cut(text: &[u8], at: usize) -> bool {
    let is_letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    text.get(at) == Some(&b' ') && at > 0 && is_letter(at - 1) && is_letter(at + 1)
}
