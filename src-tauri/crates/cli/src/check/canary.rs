//! What the built-in model is asked, read from the folder that ships with it.

use std::fmt;
use std::path::Path;

use hangar_gemma::{Conversation, Message, Part, PastArguments, PastCall, Role, Thinking, ToolDeclaration};
use hangar_media::{decode_audio, decode_image};
use hangar_protocol::{Group, Media, Prompt, Segment};
use serde::Deserialize;

use super::quiet;
use crate::failure::Failure;

/// Longer sound than this is no quick check.
const LONGEST_SOUND_MS: u64 = 120_000;

/// One question with the answer it must get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Canary {
    /// What is proved.
    pub(crate) name: String,
    /// The question, rendered.
    pub(crate) prompt: Prompt,
    /// The answer.
    pub(crate) expected: Expected,
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Expected {
    /// Exactly this text.
    Text {
        /// The text.
        text: String,
    },
    /// Exactly this markup, control tokens by name.
    Markup {
        /// The markup.
        markup: String,
    },
    /// Log-probabilities after a warm start as after a cold one.
    Exact {
        /// Largest difference that may be.
        limit: f64,
    },
}

impl fmt::Display for Expected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { text } => formatter.write_str(text),
            Self::Markup { markup } => formatter.write_str(markup),
            Self::Exact { limit } => write!(formatter, "at most {limit:e} apart"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    canaries: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    messages: Vec<WrittenMessage>,
    #[serde(default)]
    tools: Vec<WrittenTool>,
    #[serde(default)]
    thinking: bool,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMessage {
    role: WrittenRole,
    #[serde(default)]
    parts: Vec<WrittenPart>,
    #[serde(default)]
    calls: Vec<WrittenCall>,
}

/// A call that the model made earlier; tools answer calls in their order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    name: String,
    arguments: serde_json::Map<String, serde_json::Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenRole {
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenPart {
    Text(String),
    Image(String),
    Audio(WrittenSound),
}

/// A sound file, or one with quiet before it, so that a long clip needs no large file.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenSound {
    File(String),
    Late { file: String, quiet_before_s: u32 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTool {
    name: String,
    description: String,
    parameters: serde_json::Value,
}

/// Reads and renders all canaries of a folder.
pub(crate) fn read(folder: &Path) -> Result<Vec<Canary>, Failure> {
    let file = folder.join("canaries.json");
    let text = std::fs::read(&file).map_err(at("read", &file))?;
    let list: List = serde_json::from_slice(&text).map_err(wrong(&file))?;
    if list.canaries.is_empty() {
        return Err(wrong(&file)("it holds no canary"));
    }
    list.canaries.into_iter().map(|written| render(folder, &file, written)).collect()
}

fn render(folder: &Path, file: &Path, written: Written) -> Result<Canary, Failure> {
    let mut media = Vec::new();
    let mut messages = Vec::with_capacity(written.messages.len());
    for message in written.messages {
        let mut parts = Vec::with_capacity(message.parts.len());
        for part in message.parts {
            parts.extend(read_part(folder, part, &mut media)?);
        }
        let calls = message.calls.into_iter().map(|call| PastCall {
            id: None,
            name: call.name,
            arguments: PastArguments::Object(call.arguments),
        });
        messages.push(match message.role {
            WrittenRole::User => Message::new(Role::User, parts),
            WrittenRole::Assistant => {
                Message::Assistant { parts, reasoning: String::new(), calls: calls.collect() }
            }
            WrittenRole::Tool => Message::new(Role::Tool, parts),
        });
    }
    let tools: Vec<ToolDeclaration> = written
        .tools
        .into_iter()
        .map(|tool| ToolDeclaration {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
        })
        .collect();
    let thinking = if written.thinking { Thinking::On } else { Thinking::Off };
    let conversation = Conversation { messages: &messages, tools: &tools, thinking };
    let groups = hangar_gemma::render(&conversation).map_err(wrong(file))?.groups;
    let groups =
        groups.into_iter().map(|group| Group { segments: group.segments.into_iter().map(segment).collect() });
    let prompt = Prompt { groups: groups.collect(), media };
    Ok(Canary { name: written.name, prompt, expected: written.expected })
}

fn read_part(folder: &Path, part: WrittenPart, media: &mut Vec<Media>) -> Result<Vec<Part>, Failure> {
    let next = |media: &[Media]| u32::try_from(media.len()).unwrap_or(u32::MAX);
    let open = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).map_err(at("read", &path)).map(|bytes| (path, bytes))
    };
    match part {
        WrittenPart::Text(text) => Ok(vec![Part::Text(text)]),
        WrittenPart::Image(name) => {
            let (path, bytes) = open(&name)?;
            let image = decode_image(&bytes).map_err(wrong(&path))?;
            let (width, height) = (image.width(), image.height());
            let part = Part::Image(next(media));
            media.push(Media::Rgb8 { width, height, data_base64: image.to_base64() });
            Ok(vec![part])
        }
        WrittenPart::Audio(sound) => {
            let (name, quiet_s) = match sound {
                WrittenSound::File(name) => (name, 0),
                WrittenSound::Late { file, quiet_before_s } => (file, quiet_before_s),
            };
            let (path, bytes) = open(&name)?;
            let bytes = if quiet_s == 0 {
                bytes
            } else {
                quiet::before(&bytes, quiet_s)
                    .ok_or_else(|| wrong(&path)("silence goes before 16-bit mono WAV at 16 kHz only"))?
            };
            let sound = decode_audio(&bytes, LONGEST_SOUND_MS).map_err(wrong(&path))?;
            let mut parts = Vec::new();
            for segment in sound.segments() {
                parts.push(Part::Audio(next(media)));
                media.push(Media::Pcm16k { data_base64: segment.to_base64() });
            }
            Ok(parts)
        }
    }
}

fn segment(segment: hangar_gemma::Segment) -> Segment {
    match segment {
        hangar_gemma::Segment::Text(text) => Segment::Text { text },
        hangar_gemma::Segment::Control(token) => Segment::Control { token: token.as_str().to_owned() },
        hangar_gemma::Segment::Image(media) => Segment::Image { media },
        hangar_gemma::Segment::Audio(media) => Segment::Audio { media },
    }
}

fn at(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File { action, path, source }
}

fn wrong<E: fmt::Display>(file: &Path) -> impl FnOnce(E) -> Failure {
    let file = file.to_owned();
    move |what| Failure::Canary { file, what: what.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("canaries.json"), text).unwrap();
        folder
    }

    #[test]
    fn a_written_canary_becomes_a_prompt() {
        let folder = folder(
            r#"{"canaries":[{"name":"recall","messages":[{"role":"user","parts":[{"text":"hi"}]}],
                "expected":{"kind":"text","text":"hello"}}]}"#,
        );
        let canaries = read(folder.path()).unwrap();
        assert_eq!(canaries[0].expected, Expected::Text { text: "hello".into() });
        assert!(canaries[0].prompt.groups.len() >= 2 && canaries[0].prompt.media.is_empty());
    }

    #[test]
    fn a_round_with_a_tool_and_thinking_is_rendered_as_a_server_renders_it() {
        let folder = folder(
            r#"{"canaries":[{"name":"result","thinking":true,"messages":[
                {"role":"user","parts":[{"text":"weather?"}]},
                {"role":"assistant","calls":[{"name":"f","arguments":{"city":"oslo"}}]},
                {"role":"tool","parts":[{"text":"sunny"}]}],
                "expected":{"kind":"text","text":"sunny"}}]}"#,
        );
        let prompt = read(folder.path()).unwrap().remove(0).prompt;
        let written: String = prompt.groups.iter().flat_map(|group| &group.segments).map(spelled).collect();
        assert!(written.contains("<|think|>"), "{written}");
        assert!(
            written.ends_with(
                "<|tool_response>response:f{value:<|\"|>sunny<|\"|>}<tool_response|><|channel>thought\n"
            ),
            "{written}"
        );
    }

    fn spelled(segment: &Segment) -> &str {
        match segment {
            Segment::Text { text } => text,
            Segment::Control { token } => token,
            Segment::Image { .. } | Segment::Audio { .. } => "",
        }
    }

    #[test]
    fn missing_and_damaged_files_are_named() {
        let with_image = |name: &str| {
            format!(
                r#"{{"canaries":[{{"name":"x","messages":[{{"role":"user","parts":[{{"image":"{name}"}}]}}],
                    "expected":{{"kind":"exact","limit":1e-4}}}}]}}"#
            )
        };
        let missing = folder(&with_image("none.png"));
        assert!(read(missing.path()).unwrap_err().to_string().contains("none.png"));
        let damaged = folder(&with_image("bad.png"));
        std::fs::write(damaged.path().join("bad.png"), b"not a png").unwrap();
        assert!(read(damaged.path()).unwrap_err().to_string().contains("bad.png"));
        for text in ["", "{}", r#"{"canaries":[]}"#, r#"{"canaries":[{"name":1}]}"#] {
            assert!(read(folder(text).path()).unwrap_err().to_string().contains("canaries.json"));
        }
    }
}
