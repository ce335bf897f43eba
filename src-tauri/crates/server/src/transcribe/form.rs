//! The form of a transcription.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use multer::{Field, Multipart};

use crate::error::ApiError;

/// What was filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    /// The sound.
    pub(super) file: Vec<u8>,
    /// What it is said to be; empty where nothing is said.
    pub(super) mime_type: String,
    /// The model that is asked.
    pub(super) model: Option<String>,
    /// The language spoken, by its code.
    pub(super) language: Option<String>,
    /// Words that may occur.
    pub(super) prompt: Option<String>,
    /// 0 to 1; 0 is the default.
    pub(super) temperature: f32,
    /// How the text is sent.
    pub(super) format: Format,
}

/// How the text is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// An object with the text.
    Json,
    /// The text alone.
    Text,
    /// An object that also has task, language and duration.
    VerboseJson,
}

/// The border between the fields, as the request names it.
///
/// # Errors
/// [`ApiError::BadRequest`] for a body that is no form.
pub(super) fn boundary(headers: &HeaderMap) -> Result<String, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    multer::parse_boundary(kind)
        .map_err(|_| bad(None, "The body is no form: send multipart/form-data with a file and a model."))
}

/// Reads the fields; those that change nothing here are passed over.
///
/// # Errors
/// [`ApiError`] names the field.
pub(super) async fn read(body: Vec<u8>, boundary: &str) -> Result<Form, ApiError> {
    let whole = futures::stream::iter([Ok::<_, Infallible>(Bytes::from(body))]);
    let mut fields = Multipart::new(whole, boundary);
    let mut file = None;
    let mut form = Form {
        file: Vec::new(),
        mime_type: String::new(),
        model: None,
        language: None,
        prompt: None,
        temperature: 0.0,
        format: Format::Json,
    };
    let broken = |_| bad(None, "The form breaks off or is written wrongly. Send it again.");
    while let Some(field) = fields.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "file" => {
                let kind = field.content_type().map(|kind| kind.essence_str().to_ascii_lowercase());
                // What a program says of a file that it knows nothing of says nothing.
                form.mime_type = kind.filter(|kind| kind != "application/octet-stream").unwrap_or_default();
                file = Some(field.bytes().await.map_err(broken)?);
            }
            "model" => form.model = Some(text(field).await?).filter(|model| !model.is_empty()),
            "language" => form.language = language(&text(field).await?)?,
            "prompt" => form.prompt = Some(text(field).await?).filter(|prompt| !prompt.is_empty()),
            "temperature" => form.temperature = temperature(&text(field).await?)?,
            "response_format" => form.format = format(&text(field).await?)?,
            "stream" => refuse_unless(
                &text(field).await?,
                &["", "false"],
                "stream",
                "leave it out: the text comes whole",
            )?,
            "timestamp_granularities[]" | "timestamp_granularities" => {
                let cure = "leave it out: the model tells no times";
                refuse_unless(&text(field).await?, &[""], "timestamp_granularities", cure)?;
            }
            _ => {}
        }
    }
    let file =
        file.ok_or_else(|| bad(Some("file"), "file is missing: expected the sound as a file of the form."))?;
    form.file = file.into();
    Ok(form)
}

async fn text(field: Field<'_>) -> Result<String, ApiError> {
    let name = field.name().unwrap_or_default().to_owned();
    let bytes = field.bytes().await.map_err(|_| bad(Some(&name), "The form breaks off. Send it again."))?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| bad(Some(&name), &format!("{name}: expected text in UTF-8.")))?;
    Ok(text.trim().to_owned())
}

fn language(text: &str) -> Result<Option<String>, ApiError> {
    let is_code = text.len() <= 32 && text.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-');
    if !is_code {
        return Err(bad(Some("language"), "language: expected a code such as en."));
    }
    Ok(Some(text.to_owned()).filter(|code| !code.is_empty()))
}

fn temperature(text: &str) -> Result<f32, ApiError> {
    if text.is_empty() {
        return Ok(0.0);
    }
    let number = text.parse::<f32>().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| bad(Some("temperature"), "temperature: expected a number from 0 to 1."))
}

fn format(text: &str) -> Result<Format, ApiError> {
    match text {
        "" | "json" => Ok(Format::Json),
        "text" => Ok(Format::Text),
        "verbose_json" => Ok(Format::VerboseJson),
        _ => Err(unsupported("response_format", "send json, text or verbose_json; the model tells no times")),
    }
}

fn refuse_unless(text: &str, harmless: &[&str], param: &str, cure: &str) -> Result<(), ApiError> {
    if harmless.contains(&text) { Ok(()) } else { Err(unsupported(param, cure)) }
}

fn unsupported(param: &str, cure: &str) -> ApiError {
    ApiError::UnsupportedRequest { param: param.to_owned(), cure: cure.to_owned() }
}

fn bad(param: Option<&str>, what: &str) -> ApiError {
    ApiError::BadRequest { param: param.map(str::to_owned), what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn filled(fields: &[(&str, &str)]) -> Result<Form, ApiError> {
        let mut body = String::new();
        for (name, value) in fields {
            let more = if *name == "file" { "; filename=\"a.wav\"\r\nContent-Type: audio/wav" } else { "" };
            body +=
                &format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\n{value}\r\n");
        }
        body += "--X--\r\n";
        read(body.into_bytes(), "X").await
    }

    async fn refused(fields: &[(&str, &str)]) -> (u16, Option<String>) {
        let error = filled(fields).await.unwrap_err();
        (error.status().as_u16(), error.param().map(str::to_owned))
    }

    #[tokio::test]
    async fn every_field_is_read() {
        let form = filled(&[
            ("model", "gemma"),
            ("file", "RIFF"),
            ("language", "en"),
            ("prompt", "Hangar"),
            ("temperature", "0.5"),
            ("response_format", "verbose_json"),
            ("stream", "false"),
            ("user", "passed over"),
        ])
        .await
        .unwrap();
        let expected = Form {
            file: b"RIFF".to_vec(),
            mime_type: "audio/wav".into(),
            model: Some("gemma".into()),
            language: Some("en".into()),
            prompt: Some("Hangar".into()),
            temperature: 0.5,
            format: Format::VerboseJson,
        };
        assert_eq!(form, expected);
        let plain = filled(&[("file", "RIFF"), ("model", ""), ("response_format", "text")]).await.unwrap();
        assert_eq!((plain.model, plain.format, plain.temperature), (None, Format::Text, 0.0));
    }

    #[tokio::test]
    async fn what_cannot_be_honoured_is_refused_by_its_field() {
        for (name, value) in [
            ("response_format", "srt"),
            ("response_format", "vtt"),
            ("stream", "true"),
            ("timestamp_granularities[]", "word"),
            ("temperature", "2"),
            ("temperature", "NaN"),
            ("language", "ignore all that\nand"),
        ] {
            let (status, param) = refused(&[("file", "RIFF"), (name, value)]).await;
            assert_eq!((status, param.as_deref()), (400, Some(name.trim_end_matches("[]"))), "{value}");
        }
        assert_eq!(refused(&[("model", "a")]).await, (400, Some("file".into())));
        assert!(read(b"--X\r\nContent-Disp".to_vec(), "X").await.is_err());
        assert!(boundary(&HeaderMap::new()).is_err());
    }
}
