//! Rust source as words and signs, without comments, texts and test modules.

/// A word or a sign of code with its line.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// The word, or a single sign.
    pub text: String,
    /// Line, counted from 1.
    pub line: usize,
}

/// Cuts source into tokens; texts and characters in quotes are left out.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut reader = Reader { rest: source, line: 1 };
    let mut tokens = Vec::new();
    while let Some(first) = reader.rest.chars().next() {
        if reader.rest.starts_with("//") {
            reader.skip(reader.rest.find('\n').unwrap_or(reader.rest.len()));
        } else if reader.rest.starts_with("/*") {
            reader.skip_block_comment();
        } else if let Some(length) = text_length(reader.rest) {
            reader.skip(length);
        } else if first.is_alphanumeric() || first == '_' {
            let end = reader.rest.find(|character: char| !character.is_alphanumeric() && character != '_');
            let length = end.unwrap_or(reader.rest.len());
            tokens.push(Token { text: reader.rest[..length].to_owned(), line: reader.line });
            reader.skip(length);
        } else {
            if !first.is_whitespace() {
                tokens.push(Token { text: first.to_string(), line: reader.line });
            }
            reader.skip(first.len_utf8());
        }
    }
    tokens
}

/// Leaves out modules in braces that are marked `#[cfg(test)]`, whatever stands between the two.
pub fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some(token) = rest.first() {
        if let Some(length) = test_module_length(rest) {
            rest = &rest[length..];
        } else {
            kept.push(token.clone());
            rest = &rest[1..];
        }
    }
    kept
}

fn test_module_length(tokens: &[Token]) -> Option<usize> {
    if !starts_with(tokens, &["#", "[", "cfg", "(", "test", ")", "]"]) {
        return None;
    }
    let opens = tokens.iter().position(|token| token.text == "{")?;
    let module = opens.checked_sub(2).is_some_and(|at| tokens[at].text == "mod");
    module.then(|| opens + block_length(&tokens[opens..]))
}

/// Whether the tokens begin with these words and signs.
pub fn starts_with(tokens: &[Token], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
}

/// Tokens from an opening brace to its closing one.
pub fn block_length(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl Reader<'_> {
    fn skip(&mut self, length: usize) {
        let (passed, rest) = self.rest.split_at(length);
        self.line += passed.matches('\n').count();
        self.rest = rest;
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.skip(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
            } else if let Some(character) = self.rest.chars().next() {
                self.skip(character.len_utf8());
            }
            if depth == 0 || self.rest.is_empty() {
                return;
            }
        }
    }
}

/// Length of the text or character in quotes at the start, if one stands there.
fn text_length(source: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = source.strip_prefix(prefix).unwrap_or_default();
        let raw = prefix.ends_with('r');
        after.starts_with('"')
            || (raw && after.trim_start_matches('#').starts_with('"') && after.starts_with('#'))
    });
    if let Some(prefix) = prefix {
        let after = &source[prefix.len()..];
        let hashes = after.len() - after.trim_start_matches('#').len();
        let body = prefix.len() + hashes + 1;
        if prefix.ends_with('r') {
            let end = format!("\"{}", "#".repeat(hashes));
            return Some(source[body..].find(&end).map_or(source.len(), |at| body + at + end.len()));
        }
        return Some(body + escaped_length(&source[body..], '"'));
    }
    let prefix = usize::from(source.starts_with("b'"));
    let body = source[prefix..].strip_prefix('\'')?;
    let mut characters = body.chars();
    let (first, second) = (characters.next()?, characters.next()?);
    let is_character = first == '\\' || second == '\'';
    is_character.then(|| prefix + 1 + escaped_length(body, '\''))
}

/// Length up to and with the closing quote.
fn escaped_length(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in body.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + quote.len_utf8(),
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_texts_are_no_code() {
        let source = "a // axum\n/* axum /* axum */ axum */ b \"axum \\\" axum\" r#\"axum \" axum\"# b'x' '\\'' '\"' c";
        assert_eq!(words(source), ["a", "b", "c"]);
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        assert_eq!(
            words("fn f<'a>(r: &'a str)"),
            ["fn", "f", "<", "'", "a", ">", "(", "r", ":", "&", "'", "a", "str", ")"]
        );
        assert_eq!(words("r#type b r"), ["r", "#", "type", "b", "r"]);
    }

    #[test]
    fn lines_are_counted_through_comments_and_texts() {
        let found = tokens("/* \n */ \"\n\"\nx");
        assert_eq!(found, [Token { text: "x".to_owned(), line: 4 }]);
    }

    #[test]
    fn test_modules_are_left_out_and_what_follows_is_kept() {
        let source = "a; #[cfg(test)] mod tests { b { c } } d; #[cfg(test)] mod more; #[cfg(test)] fn e() {} #[cfg(test)] #[expect(x)] pub mod y { b }";
        let kept: Vec<String> = without_tests(tokens(source)).into_iter().map(|token| token.text).collect();
        assert!(
            ["a", "d", "more", "e"].iter().all(|word| kept.iter().any(|token| token == word)),
            "{kept:?}"
        );
        assert!(!kept.iter().any(|token| token == "b" || token == "c"), "{kept:?}");
    }
}
