//! Messages after the system's, one group each.

use std::collections::{HashMap, VecDeque};

use crate::render::{Group, Opening, RenderError, Thinking, Writer, texts_of};
use crate::{ControlToken, Message, PastArguments, PastCall, notation};

/// What of the messages so far the next one depends on.
#[derive(Debug)]
pub(crate) struct History<'a> {
    /// Whether the model's turn is still open, because it called tools.
    is_open: bool,
    /// Whether the last message was a tool's answer.
    ends_in_result: bool,
    /// Every call so far, and whether a tool has answered it.
    calls: Vec<(&'a PastCall, bool)>,
    /// Where the calls of an id are.
    by_id: HashMap<&'a str, VecDeque<usize>>,
    /// No call before this one is unanswered.
    first_open: usize,
    /// Index of the last user message.
    last_user: Option<usize>,
}

impl<'a> History<'a> {
    pub(crate) fn new(messages: &[Message]) -> Self {
        let last_user = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
        Self {
            is_open: false,
            ends_in_result: false,
            calls: Vec::new(),
            by_id: HashMap::new(),
            first_open: 0,
            last_user,
        }
    }

    /// Goes on behind an answer of the model whose turn nothing has closed yet.
    pub(crate) fn after(calls: &'a [PastCall], messages: &[Message]) -> Self {
        let mut history = Self { is_open: true, ..Self::new(messages) };
        calls.iter().for_each(|each| history.called(each));
        history
    }

    /// The group of the next message.
    pub(crate) fn turn(&mut self, index: usize, message: &'a Message) -> Result<Group, RenderError> {
        let mut writer = Writer::default();
        self.ends_in_result = false;
        match message {
            Message::System { .. } => {
                self.close(&mut writer);
                writer.begin_turn("system");
                writer.text(&texts_of(index, message)?.concat());
                writer.end_turn();
            }
            Message::User { parts } => {
                self.close(&mut writer);
                writer.begin_turn("user");
                for part in parts {
                    writer.part(part);
                }
                writer.end_turn();
            }
            Message::Assistant { parts, reasoning, calls } => {
                self.open(&mut writer);
                if self.last_user.is_none_or(|last| index > last) {
                    thought(&mut writer, reasoning);
                }
                for each in calls {
                    call(&mut writer, each);
                }
                for part in parts {
                    writer.part(part);
                }
                calls.iter().for_each(|each| self.called(each));
                if calls.is_empty() {
                    self.close(&mut writer);
                }
            }
            Message::Tool { call_id, .. } => {
                let answered = self.answered(call_id.as_deref());
                let answered = answered.ok_or(RenderError::OrphanResult { message: index })?;
                self.open(&mut writer);
                writer.control(ControlToken::ToolResponseStart);
                writer.text("response:");
                writer.text(&answered.name);
                writer.text("{value:");
                let texts = texts_of(index, message)?;
                notation::quoted(&mut writer, &texts.join("\n"));
                writer.text("}");
                writer.control(ControlToken::ToolResponseEnd);
                self.ends_in_result = true;
            }
        }
        Ok(writer.group())
    }

    /// What has to stand before the answer, if anything, and where that answer begins.
    pub(crate) fn answer(&self, thinking: Thinking) -> (Option<Group>, Opening) {
        let mut writer = Writer::default();
        let mut opening = Opening::Turn;
        if !self.is_open {
            writer.begin_turn("model");
            if thinking == Thinking::OffByEmptyThought {
                writer.control(ControlToken::ChannelStart);
                writer.text("thought\n");
                writer.control(ControlToken::ChannelEnd);
            }
        } else if self.ends_in_result && thinking == Thinking::On {
            writer.control(ControlToken::ChannelStart);
            writer.text("thought\n");
            opening = Opening::Thought;
        }
        let group = writer.group();
        ((!group.segments.is_empty()).then_some(group), opening)
    }

    fn called(&mut self, call: &'a PastCall) {
        if let Some(id) = &call.id {
            self.by_id.entry(id).or_default().push_back(self.calls.len());
        }
        self.calls.push((call, false));
    }

    fn open(&mut self, writer: &mut Writer) {
        if !self.is_open {
            writer.begin_turn("model");
            self.is_open = true;
        }
    }

    fn close(&mut self, writer: &mut Writer) {
        if self.is_open {
            writer.end_turn();
            self.is_open = false;
        }
    }

    /// The call that a tool's answer belongs to. Of several calls with one id each is answered in turn; what
    /// comes after that belongs to the last of them.
    fn answered(&mut self, id: Option<&str>) -> Option<&'a PastCall> {
        let at = match id {
            Some(id) => {
                let places = self.by_id.get_mut(id)?;
                if places.len() > 1 { places.pop_front()? } else { *places.front()? }
            }
            None => {
                while self.calls.get(self.first_open)?.1 {
                    self.first_open += 1;
                }
                self.first_open
            }
        };
        let found = self.calls.get_mut(at)?;
        found.1 = true;
        Some(found.0)
    }
}

fn thought(writer: &mut Writer, reasoning: &str) {
    let reasoning = reasoning.trim();
    if !reasoning.is_empty() {
        writer.control(ControlToken::ChannelStart);
        writer.text("thought\n");
        writer.text(reasoning);
        writer.text("\n");
        writer.control(ControlToken::ChannelEnd);
    }
}

fn call(writer: &mut Writer, call: &PastCall) {
    writer.control(ControlToken::ToolCallStart);
    writer.text("call:");
    writer.text(&call.name);
    match &call.arguments {
        PastArguments::Object(arguments) => notation::object(writer, arguments, 0),
        PastArguments::Opaque(text) => {
            writer.text("{");
            writer.text(text);
            writer.text("}");
        }
    }
    writer.control(ControlToken::ToolCallEnd);
}
