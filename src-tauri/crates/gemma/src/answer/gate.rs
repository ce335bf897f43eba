//! Which calls a client gets to see.

use crate::ToolDeclaration;

/// What may stand between the prefix of a name and the name.
const SEPARATORS: [char; 3] = [':', '.', '/'];

/// The tools of a request and what it asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    /// The tools that were declared.
    pub tools: Vec<ToolDeclaration>,
    /// Which of them may be called.
    pub choice: ToolChoice,
    /// Whether only the first call is wanted.
    pub one_call: bool,
}

/// Which tools may be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Any, or none.
    #[default]
    Auto,
    /// None.
    None,
    /// Any, and at least one.
    Required,
    /// This one.
    Named(String),
}

/// What is to be done with a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict<'a> {
    Admitted(&'a ToolDeclaration),
    Undeclared,
    Unwanted(&'a ToolDeclaration),
}

impl Gate {
    /// Judges a call by the name the model gave.
    pub(super) fn judge(&self, name: &str) -> Verdict<'_> {
        let Some(tool) = self.declared(name) else {
            return Verdict::Undeclared;
        };
        let wanted = match &self.choice {
            ToolChoice::Auto | ToolChoice::Required => true,
            ToolChoice::None => false,
            ToolChoice::Named(wanted) => *wanted == tool.name,
        };
        if wanted { Verdict::Admitted(tool) } else { Verdict::Unwanted(tool) }
    }

    /// The tool of that name. A name with a prefix means the one declared name that it ends in behind a
    /// separator; no other likeness counts.
    fn declared(&self, name: &str) -> Option<&ToolDeclaration> {
        let exact = self.tools.iter().find(|tool| tool.name == name);
        exact.or_else(|| {
            let mut ends = self.tools.iter().filter(|tool| {
                let prefix = name.strip_suffix(tool.name.as_str());
                prefix.is_some_and(|prefix| prefix.len() > 1 && prefix.ends_with(SEPARATORS))
            });
            let first = ends.next()?;
            ends.all(|other| other.name == first.name).then_some(first)
        })
    }
}
