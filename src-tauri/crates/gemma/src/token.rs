//! The control tokens of Gemma 4 by name.

/// A control token that a prompt may hold or a model may emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlToken {
    /// `<bos>` begins every prompt.
    Bos,
    /// `<eos>` ends a text.
    Eos,
    /// `<|turn>` begins a turn; its role follows as text.
    TurnStart,
    /// `<turn|>` ends a turn.
    TurnEnd,
    /// `<|tool>` begins the declaration of a tool.
    ToolStart,
    /// `<tool|>` ends the declaration of a tool.
    ToolEnd,
    /// `<|tool_call>` begins a call made by the model.
    ToolCallStart,
    /// `<tool_call|>` ends a call made by the model.
    ToolCallEnd,
    /// `<|tool_response>` begins a tool's answer; a model that emits it waits for one.
    ToolResponseStart,
    /// `<tool_response|>` ends a tool's answer.
    ToolResponseEnd,
    /// `<|"|>` stands on both sides of a string in declarations, calls and tool answers.
    Quote,
    /// `<|think|>` in the system turn switches thinking on.
    Think,
    /// `<|channel>` begins a channel; its name follows as text, up to a newline.
    ChannelStart,
    /// `<channel|>` ends a channel.
    ChannelEnd,
}

impl ControlToken {
    /// Every control token.
    pub const ALL: [Self; 14] = [
        Self::Bos,
        Self::Eos,
        Self::TurnStart,
        Self::TurnEnd,
        Self::ToolStart,
        Self::ToolEnd,
        Self::ToolCallStart,
        Self::ToolCallEnd,
        Self::ToolResponseStart,
        Self::ToolResponseEnd,
        Self::Quote,
        Self::Think,
        Self::ChannelStart,
        Self::ChannelEnd,
    ];

    /// The token's name in the tokenizer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bos => "<bos>",
            Self::Eos => "<eos>",
            Self::TurnStart => "<|turn>",
            Self::TurnEnd => "<turn|>",
            Self::ToolStart => "<|tool>",
            Self::ToolEnd => "<tool|>",
            Self::ToolCallStart => "<|tool_call>",
            Self::ToolCallEnd => "<tool_call|>",
            Self::ToolResponseStart => "<|tool_response>",
            Self::ToolResponseEnd => "<tool_response|>",
            Self::Quote => "<|\"|>",
            Self::Think => "<|think|>",
            Self::ChannelStart => "<|channel>",
            Self::ChannelEnd => "<channel|>",
        }
    }

    /// The token of that name, if it is one of ours.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|token| token.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_again_by_its_own_name_only() {
        for token in ControlToken::ALL {
            assert_eq!(ControlToken::from_name(token.as_str()), Some(token));
        }
        for name in ["", "<|turn", "<|TURN>", " <|turn>", "<|image|>", "<pad>", "turn"] {
            assert_eq!(ControlToken::from_name(name), None, "{name}");
        }
    }
}
