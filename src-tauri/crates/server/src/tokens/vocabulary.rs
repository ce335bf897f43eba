//! A model's tokenizer, set up as its worker sets it up: literal text never becomes a control token.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokenizers::Tokenizer;

use super::encoder::{TextEncoder, text_bytes};

/// What a model's tokens are.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    encoder: TextEncoder,
}

/// Why a tokenizer cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum VocabularyError {
    /// The file cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no tokenizer of the kind that Gemma has.
    #[error("{file} is no tokenizer of Gemma's kind")]
    Foreign {
        /// The file.
        file: PathBuf,
    },
}

impl Vocabulary {
    /// Reads a `tokenizer.json`; takes a second for a large one.
    pub(crate) fn read(file: &Path) -> Result<Self, VocabularyError> {
        let unreadable = |source| VocabularyError::Unreadable { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(&text).ok_or_else(|| VocabularyError::Foreign { file: file.to_owned() })
    }

    fn parse(text: &str) -> Option<Self> {
        let names_a_control = Regex::new(NAMES_A_CONTROL).ok()?;
        let mut written: Written = serde_json::from_str(text).ok()?;
        let mut is_hidden = false;
        for added in written.added_tokens.iter_mut().filter(|added| !added.special) {
            added.special = names_a_control.is_match(&added.content);
            is_hidden |= added.special;
        }
        let mut tokenizer = if is_hidden {
            // Some checkpoints list control tokens as ordinary added tokens, which literal text would hit.
            let mut whole: Value = serde_json::from_str(text).ok()?;
            for (added, read) in
                whole.get_mut("added_tokens")?.as_array_mut()?.iter_mut().zip(&written.added_tokens)
            {
                added.as_object_mut()?.insert("special".to_owned(), json!(read.special));
            }
            serde_json::from_value::<Tokenizer>(whole).ok()?
        } else {
            text.parse::<Tokenizer>().ok()?
        };
        tokenizer.set_encode_special_tokens(true);
        Some(Self { encoder: TextEncoder::new(tokenizer, &written) })
    }

    /// The number of tokens of literal text; stops soon after `enough`. None where the library fails.
    pub(crate) fn count(&self, text: &str, enough: u64) -> Option<u64> {
        self.encoder.count(text, enough)
    }

    /// The number of tokens when all of a text is encoded in one go.
    #[cfg(test)]
    pub(super) fn whole(&self, text: &str) -> Option<u64> {
        self.encoder.whole(text)
    }

    /// A lower bound from the length alone; 0 where length says nothing.
    pub(crate) fn least_tokens(&self, text: &str) -> u64 {
        self.encoder.least_tokens(text.len())
    }
}

/// What is looked at of a `tokenizer.json` besides what the library reads.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    added_tokens: Vec<Added>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    model: Model,
}

#[derive(Debug, Deserialize)]
struct Added {
    content: String,
    /// Whether it is a control token: called so, or named like one.
    #[serde(default)]
    special: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    single_word: bool,
}

#[derive(Debug, Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    dropout: Option<f64>,
    #[serde(default)]
    ignore_merges: bool,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
}

impl Written {
    /// Whether text goes to byte-pair merging as it is, with a token for every byte and nothing around it.
    pub(super) fn is_plain(&self) -> bool {
        let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"});
        let sequence = json!({"type": "Sequence", "normalizers": [replace]});
        let is_set = |rule: &Option<String>| rule.as_ref().is_some_and(|rule| !rule.is_empty());
        let model = &self.model;
        self.normalizer.as_ref().is_some_and(|found| *found == replace || *found == sequence)
            && self.pre_tokenizer.as_ref().is_none_or(never_splits)
            && model.dropout.is_none_or(|rate| rate == 0.0)
            && !model.ignore_merges
            && !is_set(&model.continuing_subword_prefix)
            && !is_set(&model.end_of_word_suffix)
            && (0..=u8::MAX).all(|byte| model.vocab.contains_key(&format!("<0x{byte:02X}>")))
            && !self.added_tokens.iter().any(|added| added.lstrip || added.rstrip || added.single_word)
    }

    /// Length of the longest token that text can become, in bytes.
    pub(super) fn longest_token_bytes(&self) -> usize {
        self.texts().map(text_bytes).max().unwrap_or(1).max(1)
    }

    /// All tokens that text can become.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let controls: HashSet<&str> = self
            .added_tokens
            .iter()
            .filter(|added| added.special)
            .map(|added| added.content.as_str())
            .collect();
        let texts = self.model.vocab.keys().map(String::as_str).filter(move |name| !controls.contains(name));
        texts.chain(self.added_texts())
    }

    /// The added tokens that text can become.
    pub(super) fn added_texts(&self) -> impl Iterator<Item = &str> {
        self.added_tokens.iter().filter(|added| !added.special).map(|added| added.content.as_str())
    }

    /// Length of the longest added token, in bytes.
    pub(super) fn longest_added_bytes(&self) -> usize {
        self.added_tokens.iter().map(|added| added.content.len()).max().unwrap_or(0)
    }
}

/// Splits at spaces, of which the normalizer leaves none.
fn never_splits(splitter: &Value) -> bool {
    splitter.get("type").and_then(Value::as_str) == Some("Split")
        && splitter.get("pattern") == Some(&json!({"String": " "}))
}

/// The worker's own rule for names that literal text must never hit.
const NAMES_A_CONTROL: &str = r"(?x) ^ (?: <\|[^<>\s]*> | <[^<>\s]*\|> ) $
    | (?i) ^ (?: <(?:unused|reserved|extra|special|pad|mask|unk|bos|eos|cls|sep|start_of|end_of)[-_]?\w*>
        | <\w+_soft_token> | \[(?:unused|reserved|pad|mask|unk|cls|sep|multimodal)[-_]?\w*\] ) $";
