//! What a profile takes in: per kind of input, whether, how much and of which types.

use serde::{Deserialize, Serialize};

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Modality {
    /// Written text.
    Text,
    /// Pictures.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Documents.
    Document,
}

impl Modality {
    /// All of them, in the order they are listed in.
    pub const ALL: [Self; 5] = [Self::Text, Self::Image, Self::Audio, Self::Video, Self::Document];

    /// The word for it in configuration and on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

/// What a profile takes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modalities {
    /// What the model can take as published; none where nobody said, and the loaded model has to.
    pub published: Option<Vec<Modality>>,
    /// Written text.
    pub text: ModalityPolicy,
    /// Pictures.
    pub image: ModalityPolicy,
    /// Sound.
    pub audio: ModalityPolicy,
    /// Moving pictures.
    pub video: ModalityPolicy,
    /// Documents.
    pub document: ModalityPolicy,
    /// Most sound in a request, in milliseconds.
    pub max_audio_ms: u64,
    /// What sound is made into before the model hears it.
    pub transcode: Transcode,
    /// Whether a part of a kind that is not taken refuses the request; else the part is left out.
    pub strict_capability_check: bool,
}

impl Modalities {
    /// The policy for one kind.
    pub fn policy(&self, modality: Modality) -> &ModalityPolicy {
        match modality {
            Modality::Text => &self.text,
            Modality::Image => &self.image,
            Modality::Audio => &self.audio,
            Modality::Video => &self.video,
            Modality::Document => &self.document,
        }
    }

    /// Whether a kind is switched on and, as far as is known before loading, taken by the model.
    pub fn takes(&self, modality: Modality) -> bool {
        let published = self.published.as_ref().is_none_or(|published| published.contains(&modality));
        self.policy(modality).enabled && published
    }
}

/// What is allowed of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModalityPolicy {
    /// Whether it is switched on.
    pub enabled: bool,
    /// Most parts of this kind in a request; none is no limit of its own.
    pub max_inputs: Option<u32>,
    /// Most bytes of one part, decoded from its transport; none is no limit of its own.
    pub max_bytes: Option<usize>,
    /// MIME types taken; empty means that the kind has no types.
    pub allowed_mime_types: Vec<String>,
}

/// What sound is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transcode {
    /// Whether other formats than WAV are decoded.
    pub enabled: bool,
    /// Samples a second.
    pub sample_rate_hz: u32,
}
