//! Media as it comes in: whether it is taken at all, and its bytes.

use hangar_config::Modality;
use hangar_gemma::Part;
use hangar_media::{MediaError, MediaKind, Sense, read_base64, read_data_url};

use crate::error::ApiError;
use crate::json::Field;
use crate::offer::Offer;

/// Most media in a request where nothing is configured.
const MOST_INPUTS: u32 = 32;
const IMAGE: &str = "a data URL, such as data:image/png;base64,...";
const AUDIO: &str = "a data URL or base64, such as input_audio: {data, format}";

/// One medium whose type is allowed, not yet decoded.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Path of the field.
    pub(crate) param: String,
    /// What it is.
    pub(crate) kind: MediaKind,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

impl std::fmt::Debug for Found {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Found({}, {:?}, {} bytes)", self.param, self.kind, self.bytes.len())
    }
}

/// The media of a request, gathered while it is read.
#[derive(Debug)]
pub(crate) struct Basket<'a> {
    offer: &'a Offer,
    /// In the order of the request; parts point at them by index.
    pub(crate) found: Vec<Found>,
    /// Parts that were left out because their kind is not taken.
    pub(crate) omitted: u32,
}

impl<'a> Basket<'a> {
    /// Nothing yet.
    pub(crate) fn new(offer: &'a Offer) -> Self {
        Self { offer, found: Vec::new(), omitted: 0 }
    }

    /// Reads a part of that kind; where the kind is not taken, it is refused or left out, as is configured.
    ///
    /// # Errors
    /// [`ApiError`] names the field.
    pub(crate) fn read(&mut self, part: &Field<'_>, modality: Modality) -> Result<Part, ApiError> {
        if !self.offer.takes(modality) {
            if self.offer.profile.modalities.strict_capability_check {
                return Err(self.refused(part.path(), modality));
            }
            self.omitted = self.omitted.saturating_add(1);
            return Ok(Part::Text(format!("[{} omitted]", modality.word())));
        }
        let (field, mime_type, bytes) = match modality {
            Modality::Audio => self.audio(part)?,
            Modality::Text | Modality::Image | Modality::Video | Modality::Document => self.image(part)?,
        };
        self.add(field, &mime_type, bytes, modality)
    }

    /// Takes bytes that came without any JSON around them.
    ///
    /// # Errors
    /// [`ApiError`] names the field.
    pub(crate) fn add(
        &mut self,
        param: String,
        mime_type: &str,
        bytes: Vec<u8>,
        modality: Modality,
    ) -> Result<Part, ApiError> {
        let policy = self.offer.profile.modalities.policy(modality);
        let limit_bytes = policy.max_bytes.unwrap_or(usize::MAX);
        if bytes.len() > limit_bytes {
            let error = MediaError::TooManyBytes { found_bytes: bytes.len(), limit_bytes };
            return Err(ApiError::Media { param, error });
        }
        let sense = if modality == Modality::Audio { Sense::Hearing } else { Sense::Sight };
        let kind = self.kind(&param, mime_type, &bytes, sense)?;
        let before = self.found.iter().filter(|found| found.kind.sense() == sense).count();
        let most = policy.max_inputs.unwrap_or(MOST_INPUTS);
        if before >= usize::try_from(most).unwrap_or(usize::MAX) {
            let (word, key) = (modality.word(), format!("modalities.{}.maxInputs", modality.word()));
            let what = format!(
                "{param} is one {word} too many: a request may hold {most}. Send fewer, or raise {key}."
            );
            return Err(ApiError::BadRequest { param: Some(param), what });
        }
        let index = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        self.found.push(Found { param, kind, bytes });
        Ok(if modality == Modality::Audio { Part::Audio(index) } else { Part::Image(index) })
    }

    /// What the bytes are, if that may come in. What it is called counts only where the bytes say nothing.
    fn kind(&self, param: &str, called: &str, bytes: &[u8], sense: Sense) -> Result<MediaKind, ApiError> {
        let modalities = &self.offer.profile.modalities;
        let policy = if sense == Sense::Hearing { &modalities.audio } else { &modalities.image };
        let allowed = &policy.allowed_mime_types;
        let not_allowed = |found: &str| ApiError::UnsupportedMediaType {
            param: param.to_owned(),
            found: found.chars().filter(|sign| !sign.is_control()).take(60).collect(),
            allowed: allowed.join(", "),
        };
        match MediaKind::of(bytes) {
            Some(kind) if kind.sense() == sense && kind.is_among(allowed) => {
                let undone =
                    kind != MediaKind::Wav && sense == Sense::Hearing && !modalities.transcode.enabled;
                if undone { Err(not_allowed(kind.mime_types()[0])) } else { Ok(kind) }
            }
            Some(kind) => Err(not_allowed(kind.mime_types()[0])),
            None if called.is_empty() || allowed.iter().any(|name| name.eq_ignore_ascii_case(called)) => {
                let error = match sense {
                    _ if bytes.is_empty() => MediaError::Empty,
                    Sense::Hearing => MediaError::AudioUnknown,
                    Sense::Sight => MediaError::ImageUnknown,
                };
                Err(ApiError::Media { param: param.to_owned(), error })
            }
            None => Err(not_allowed(called)),
        }
    }

    fn refused(&self, param: &str, modality: Modality) -> ApiError {
        ApiError::UnsupportedModality {
            param: param.to_owned(),
            modality: modality.word(),
            model: self.offer.profile.model_id.clone(),
        }
    }

    /// A data URL under one of the names clients have for it: as a text, or as an object around one.
    fn image(&self, part: &Field<'_>) -> Result<(String, String, Vec<u8>), ApiError> {
        let names = ["image_url", "data_url", "url", "image"];
        let field =
            names.iter().find_map(|name| part.get(name)).ok_or_else(|| missing(part, "image_url", IMAGE))?;
        let field = inner(field, &["url", "data_url"], IMAGE)?;
        self.data_url(&field, Modality::Image, IMAGE)
    }

    /// Base64 with a format, or a data URL, under one of the names clients have for it.
    fn audio(&self, part: &Field<'_>) -> Result<(String, String, Vec<u8>), ApiError> {
        let names = ["input_audio", "audio_url", "data_url", "url", "audio"];
        let field = names
            .iter()
            .find_map(|name| part.get(name))
            .ok_or_else(|| missing(part, "input_audio", AUDIO))?;
        let format = match field.get("format") {
            Some(format) => format.text("a string, such as wav")?.to_ascii_lowercase(),
            None => String::new(),
        };
        let bare = field.get("data").filter(|data| !is_data_url(data));
        if let Some(data) = bare {
            let bytes = read_base64(data.text(AUDIO)?, self.limit(Modality::Audio))
                .map_err(|error| ApiError::Media { param: data.path().to_owned(), error })?;
            let mime_type =
                if format.is_empty() || format.contains('/') { format } else { format!("audio/{format}") };
            return Ok((data.path().to_owned(), mime_type, bytes));
        }
        let field = inner(field, &["data", "url", "data_url"], AUDIO)?;
        self.data_url(&field, Modality::Audio, AUDIO)
    }

    fn data_url(
        &self,
        field: &Field<'_>,
        modality: Modality,
        expected: &str,
    ) -> Result<(String, String, Vec<u8>), ApiError> {
        let inline = read_data_url(field.text(expected)?, self.limit(modality))
            .map_err(|error| ApiError::Media { param: field.path().to_owned(), error })?;
        Ok((field.path().to_owned(), inline.mime_type, inline.bytes))
    }

    fn limit(&self, modality: Modality) -> usize {
        self.offer.profile.modalities.policy(modality).max_bytes.unwrap_or(usize::MAX)
    }
}

fn missing(part: &Field<'_>, name: &str, expected: &str) -> ApiError {
    part.require(name, expected).err().unwrap_or(ApiError::Internal)
}

/// The text itself, or the one inside an object.
fn inner<'a>(field: Field<'a>, names: &[&str], expected: &str) -> Result<Field<'a>, ApiError> {
    if !field.value().is_object() {
        return Ok(field);
    }
    match names.iter().find_map(|name| field.get(name)) {
        Some(inner) => Ok(inner),
        None => Err(missing(&field, names[0], expected)),
    }
}

/// Base64 has no colon, so that whatever has one is an address of some kind.
fn is_data_url(field: &Field<'_>) -> bool {
    field.value().as_str().is_some_and(|text| text.as_bytes().iter().take(32).any(|byte| *byte == b':'))
}
