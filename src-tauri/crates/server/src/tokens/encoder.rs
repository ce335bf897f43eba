//! Text counted word by word where it has short words, else piece by piece, with exactly the count that encoding it
//! whole would give.
//!
//! Byte-pair merging is settled between neighbours: tokens in a row are what a text encodes to if, and only if,
//! each two neighbours are what those two alone encode to. So a piece may end wherever the next piece, begun at
//! one of its tokens, begins with that very token: every pair of neighbours then stands in one of the pieces.

use tokenizers::Tokenizer;

use super::vocabulary::Written;
use super::words::Words;

/// Length of a piece: some milliseconds of work.
const PIECE_BYTES: usize = 4096;
const MARGIN_BYTES: usize = 256;
/// How a token writes a space.
pub(super) const SPACE: char = '\u{2581}';

/// Turns literal text into token counts.
#[derive(Debug)]
pub(crate) struct TextEncoder {
    tokenizer: Tokenizer,
    is_plain: bool,
    words: Option<Words>,
    margin_bytes: usize,
    longest_token_bytes: usize,
}

/// A stretch of text as ids, and where in the text each begins.
struct Encoded {
    ids: Vec<u32>,
    starts: Vec<usize>,
    end: usize,
}

impl TextEncoder {
    pub(super) fn new(tokenizer: Tokenizer, written: &Written) -> Self {
        let is_plain = written.is_plain();
        Self {
            words: is_plain.then(|| Words::new(written)).flatten(),
            tokenizer,
            is_plain,
            margin_bytes: MARGIN_BYTES.max(2 * written.longest_added_bytes()),
            longest_token_bytes: written.longest_token_bytes(),
        }
    }

    /// A lower bound for text of this many bytes: all of it in the longest token.
    pub(super) fn least_tokens(&self, length_bytes: usize) -> u64 {
        let least = if self.is_plain { length_bytes.div_ceil(self.longest_token_bytes) } else { 0 };
        u64::try_from(least).unwrap_or(u64::MAX)
    }

    /// The number of tokens, or one over `enough` soon after that is reached.
    pub(super) fn count(&self, text: &str, enough: u64) -> Option<u64> {
        if !self.is_plain {
            return self.whole(text);
        }
        if let Some(counted) =
            self.words.as_ref().and_then(|words| words.count(&self.tokenizer, text, enough))
        {
            return Some(counted);
        }
        self.count_by_pieces(text, enough)
    }

    fn count_by_pieces(&self, text: &str, enough: u64) -> Option<u64> {
        let mut counted = 0;
        let mut length = PIECE_BYTES;
        let mut start = 0;
        let mut piece = self.encoded(text, start, length)?;
        while piece.end < text.len() && counted <= enough {
            match self.agreed_cut(text, start, &piece)? {
                Some((at, following)) => {
                    counted += u64::try_from(at).ok()?;
                    (start, length) = (piece.starts[at], PIECE_BYTES);
                    piece = following;
                }
                None => {
                    length *= 2;
                    piece = self.encoded(text, start, length)?;
                }
            }
        }
        Some(counted + u64::try_from(piece.ids.len()).ok()?)
    }

    /// The number of tokens when all of a text is encoded in one go.
    pub(super) fn whole(&self, text: &str) -> Option<u64> {
        u64::try_from(self.encoded(text, 0, text.len())?.ids.len()).ok()
    }

    /// A token at which the piece can end, and the piece that begins with it; the outer none is a failure.
    #[expect(clippy::option_option, reason = "no cut is no failure")]
    fn agreed_cut(&self, text: &str, start: usize, piece: &Encoded) -> Option<Option<(usize, Encoded)>> {
        let mut at = piece.ids.len();
        // What is near the end may look otherwise once more text follows.
        let settled = piece.end.saturating_sub(self.margin_bytes).max(start);
        while at > 1 && piece.starts[at - 1] > settled {
            at -= 1;
        }
        let mut back = 1;
        while at > back {
            at -= back;
            let begin = piece.starts[at];
            // A character of several byte tokens is cut before its first only.
            if begin == piece.starts[at - 1] || !text.is_char_boundary(begin) {
                back = 1;
                continue;
            }
            let following = self.encoded(text, begin, PIECE_BYTES)?;
            if following.ids.first() == piece.ids.get(at) {
                return Some(Some((at, following)));
            }
            back *= 2;
        }
        Some(None)
    }

    fn encoded(&self, text: &str, start: usize, length: usize) -> Option<Encoded> {
        let mut end = start.saturating_add(length).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let made = self.tokenizer.encode(&text[start..end], false).ok()?;
        let starts = made.get_offsets().iter().map(|(begin, _)| start + begin).collect();
        Some(Encoded { ids: made.get_ids().to_vec(), starts, end })
    }
}

/// Length in bytes of what a token adds to text: its written spaces are spaces.
pub(super) fn text_bytes(token: &str) -> usize {
    token.chars().map(|letter| if letter == SPACE { 1 } else { letter.len_utf8() }).sum()
}
