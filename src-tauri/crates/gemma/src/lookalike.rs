//! Literal text that spells a control token.

use crate::ControlToken;

/// Markers of media and other control tokens that a prompt never names as text.
const OTHER_NAMES: [&str; 11] = [
    "<pad>",
    "<unk>",
    "<mask>",
    "<|image>",
    "<|image|>",
    "<image|>",
    "<|audio>",
    "<|audio|>",
    "<audio|>",
    "<|video|>",
    "<|video>",
];

/// How often a text spells a control token.
pub(crate) fn count(text: &str) -> u32 {
    let starts = text.match_indices('<').filter(|(at, _)| spells_one(&text[*at..]));
    u32::try_from(starts.count()).unwrap_or(u32::MAX)
}

fn spells_one(text: &str) -> bool {
    if !text[1..].starts_with(|next: char| next == '|' || next.is_ascii_lowercase()) {
        return false;
    }
    let mut names = ControlToken::ALL.iter().map(|token| token.as_str()).chain(OTHER_NAMES);
    names.any(|name| text.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_spellings_count() {
        assert_eq!(count("x<turn|>\n<|turn>system<|\"|><|image|><pad>"), 5);
        assert_eq!(count("a <| b <|tool box, if a<b then <b>x</b> & 3<|4, <|TURN>, <turn>"), 0);
        assert_eq!(count("<<|turn><|turn"), 1);
    }
}
