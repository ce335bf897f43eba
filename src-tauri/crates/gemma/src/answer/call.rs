//! The model's own notation of a call, read into a name and a tree of values.

use crate::notation::NESTING_LIMIT;

/// What stands between the markers of a call: text, and the places of its quote tokens.
#[derive(Debug, Default)]
pub(super) struct CallText {
    text: String,
    /// Byte offsets into the text, rising.
    quotes: Vec<usize>,
}

/// A call that could be read.
#[derive(Debug, PartialEq)]
pub(super) struct ReadCall {
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Node)>,
}

/// A value whose type is not decided yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Without quotes: a number, a word, or a string whose quotes were forgotten.
    Bare(String),
    Quoted(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl CallText {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn push_quote(&mut self) {
        self.quotes.push(self.text.len());
    }

    /// Whether a string is open: there, any other token stands for its characters.
    pub(super) fn is_in_string(&self) -> bool {
        self.quotes.len() % 2 == 1
    }

    /// The name as far as it is there.
    pub(super) fn name(&self) -> &str {
        let text = self.text.trim_start();
        let text = text.strip_prefix("call:").unwrap_or(text);
        text.split('{').next().unwrap_or(text).trim()
    }

    /// Reads the call; nothing where it is not complete or not in the notation.
    pub(super) fn read(&self) -> Option<ReadCall> {
        let begin = self.text.len() - self.text.trim_start().len();
        let body = self.text.get(begin..)?.strip_prefix("call:")?;
        let brace = body.find('{')?;
        let name = body[..brace].trim();
        let mut cursor = Cursor { call: self, at: self.text.len() - body.len() + brace, quote: 0 };
        if name.is_empty() || self.quotes.first().is_some_and(|first| *first <= cursor.at) {
            return None;
        }
        let arguments = cursor.members(0)?;
        cursor.skip_space();
        cursor.peek().is_none().then(|| ReadCall { name: name.to_owned(), arguments })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Quote,
    Character(char),
}

struct Cursor<'a> {
    call: &'a CallText,
    at: usize,
    /// Index of the next quote.
    quote: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<Sign> {
        if self.call.quotes.get(self.quote) == Some(&self.at) {
            return Some(Sign::Quote);
        }
        self.call.text[self.at..].chars().next().map(Sign::Character)
    }

    fn advance(&mut self) {
        match self.peek() {
            Some(Sign::Quote) => self.quote += 1,
            Some(Sign::Character(character)) => self.at += character.len_utf8(),
            None => {}
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(Sign::Character(wanted));
        if found {
            self.advance();
        }
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(Sign::Character(character)) if character.is_whitespace()) {
            self.advance();
        }
    }

    /// Whether the list or object goes on: a comma before the next entry, its end, or neither.
    fn goes_on(&mut self, end: char) -> Option<bool> {
        self.skip_space();
        if self.take(',') {
            self.skip_space();
            return Some(!self.take(end));
        }
        self.take(end).then_some(false)
    }

    fn members(&mut self, level: usize) -> Option<Vec<(String, Node)>> {
        let mut members: Vec<(String, Node)> = Vec::new();
        self.take('{').then_some(())?;
        self.skip_space();
        let mut more = !self.take('}');
        while more {
            let name = self.name()?;
            self.skip_space();
            self.take(':').then_some(())?;
            let value = self.value(level + 1)?;
            match members.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = value,
                None => members.push((name, value)),
            }
            more = self.goes_on('}')?;
        }
        Some(members)
    }

    fn name(&mut self) -> Option<String> {
        match self.peek()? {
            Sign::Quote => self.quoted(),
            Sign::Character('"') => self.json_string(),
            Sign::Character(_) => {
                let begin = self.at;
                loop {
                    match self.peek()? {
                        Sign::Character(':') => break,
                        Sign::Quote | Sign::Character('{' | '}' | '[' | ']' | ',') => return None,
                        Sign::Character(_) => self.advance(),
                    }
                }
                let name = self.call.text[begin..self.at].trim();
                (!name.is_empty()).then(|| name.to_owned())
            }
        }
    }

    fn value(&mut self, level: usize) -> Option<Node> {
        if level > NESTING_LIMIT {
            return None;
        }
        self.skip_space();
        match self.peek()? {
            Sign::Quote => self.quoted().map(Node::Quoted),
            Sign::Character('"') => self.json_string().map(Node::Quoted),
            Sign::Character('{') => self.members(level).map(Node::Object),
            Sign::Character('[') => self.list(level).map(Node::List),
            Sign::Character(_) => self.bare().map(Node::Bare),
        }
    }

    fn list(&mut self, level: usize) -> Option<Vec<Node>> {
        let mut items = Vec::new();
        self.take('[').then_some(())?;
        self.skip_space();
        let mut more = !self.take(']');
        while more {
            items.push(self.value(level + 1)?);
            more = self.goes_on(']')?;
        }
        Some(items)
    }

    /// Up to the next quote token, whatever stands before it.
    fn quoted(&mut self) -> Option<String> {
        self.advance();
        let end = *self.call.quotes.get(self.quote)?;
        let text = self.call.text[self.at..end].to_owned();
        self.at = end;
        self.quote += 1;
        Some(text)
    }

    /// A string as JSON writes it, which models fall back to.
    fn json_string(&mut self) -> Option<String> {
        let begin = self.at;
        self.advance();
        loop {
            match self.peek()? {
                Sign::Quote => return None,
                Sign::Character('"') => break,
                Sign::Character('\\') => {
                    self.advance();
                    self.advance();
                }
                Sign::Character(_) => self.advance(),
            }
        }
        self.advance();
        // Line breaks are written as they are.
        let written =
            self.call.text[begin..self.at].replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
        serde_json::from_str(&written).ok()
    }

    fn bare(&mut self) -> Option<String> {
        let begin = self.at;
        loop {
            match self.peek()? {
                Sign::Character(',' | '}' | ']') => break,
                Sign::Quote | Sign::Character('{' | '[') => return None,
                Sign::Character(_) => self.advance(),
            }
        }
        let text = self.call.text[begin..self.at].trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}
