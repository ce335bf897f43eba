//! Media inside a request: data URLs and bare base64. Nothing else is read: no address, no file.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::MediaError;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a data URL holds.
#[derive(Clone, PartialEq, Eq)]
pub struct Inline {
    /// The type it is said to be, in lower case without parameters; empty where nothing is said.
    pub mime_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for Inline {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Inline({} bytes of {:?})", self.bytes.len(), self.mime_type)
    }
}

/// Reads a data URL with base64 in it.
///
/// # Errors
/// [`MediaError::NotInline`] for anything that is no data URL, the same whatever it points at;
/// [`MediaError::NotBase64`] for a payload in another form, [`MediaError::TooManyBytes`] over the limit,
/// [`MediaError::Empty`] where there is nothing.
pub fn read_data_url(url: &str, limit_bytes: usize) -> Result<Inline, MediaError> {
    let url = url.trim_start();
    let rest = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => &url[5..],
        Some(_) | None => return Err(MediaError::NotInline),
    };
    let Some((head, payload)) = rest.split_once(',') else {
        return Err(MediaError::NotBase64 { what: "there is no comma between its type and its data" });
    };
    let mut words = head.split(';').map(|word| word.trim().to_ascii_lowercase());
    let mime_type = words.next().unwrap_or_default();
    if !words.any(|word| word == "base64") {
        return Err(MediaError::NotBase64 { what: "its head does not say ;base64" });
    }
    let bytes = read_base64(payload, limit_bytes)?;
    Ok(Inline { mime_type, bytes })
}

/// Reads base64 as clients write it: of either alphabet, wrapped or not, with padding or without, and with the
/// three signs that URLs escape.
///
/// # Errors
/// [`MediaError::NotBase64`], [`MediaError::TooManyBytes`] or [`MediaError::Empty`].
pub fn read_base64(text: &str, limit_bytes: usize) -> Result<Vec<u8>, MediaError> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    // The same blanks at its ends as inside.
    let body = text.trim_ascii().trim_end_matches('=');
    let tidied;
    let body = if body.as_bytes().iter().all(plain) {
        body.as_bytes()
    } else {
        tidied = tidy(text.as_bytes());
        tidied.as_slice()
    };
    // Four signs are three bytes.
    let found_bytes = body.len() / 4 * 3 + body.len() % 4 * 3 / 4;
    if found_bytes == 0 {
        return Err(if body.is_empty() {
            MediaError::Empty
        } else {
            MediaError::NotBase64 { what: "it is cut short" }
        });
    }
    if found_bytes > limit_bytes {
        return Err(MediaError::TooManyBytes { found_bytes, limit_bytes });
    }
    if body.len() % 4 == 1 {
        return Err(MediaError::NotBase64 { what: "it is cut short" });
    }
    LENIENT.decode(body).map_err(|_| MediaError::NotBase64 { what: "it has signs that are no base64" })
}

/// Without white space and padding, of the standard alphabet; what does not belong stays and is refused later.
fn tidy(text: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'-' => body.push(b'+'),
            b'_' => body.push(b'/'),
            b'%' => {
                let (sign, escaped) = match rest.get(..2).map(<[u8]>::to_ascii_uppercase).as_deref() {
                    Some(b"2B") => (b'+', 2),
                    Some(b"2F") => (b'/', 2),
                    Some(b"3D") => (b'=', 2),
                    Some(_) | None => (b'%', 0),
                };
                body.push(sign);
                rest = &rest[escaped..];
            }
            space if space.is_ascii_whitespace() => {}
            other => body.push(*other),
        }
    }
    while body.last() == Some(&b'=') {
        body.pop();
    }
    body
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1000;

    #[test]
    fn the_same_bytes_come_out_of_every_way_to_write_them() {
        let bytes = [0xFB, 0xFF, 0xFE, 0x00, 0x01];
        for url in [
            "data:image/png;base64,+//+AAE=",
            "data:image/png;base64,+//+AAE",
            "data:image/png;base64,-__-AAE",
            "data:image/png;base64,-__-AAE=",
            "DATA:IMAGE/PNG;BASE64,+//+AAE=",
            " data:image/png;name=a.png;base64,+//+\r\nAAE=\n",
            "data:image/png;base64,%2B%2F%2f%2BAAE%3D",
        ] {
            let read = read_data_url(url, LIMIT).unwrap();
            assert_eq!((read.mime_type.as_str(), read.bytes.as_slice()), ("image/png", &bytes[..]), "{url}");
        }
        assert_eq!(read_data_url("data:;base64,AAE=", LIMIT).unwrap().mime_type, "");
    }

    #[test]
    fn addresses_and_paths_are_refused_alike() {
        for url in [
            "http://127.0.0.1:1/a.png",
            "https://example.org/a.png",
            "file:///etc/hostname",
            "/etc/hostname",
            "../../etc/passwd",
            "ftp://a",
            "a",
            "",
            "dät",
        ] {
            assert_eq!(read_data_url(url, LIMIT), Err(MediaError::NotInline), "{url}");
        }
    }

    #[test]
    fn what_is_no_base64_is_refused_and_never_guessed() {
        for url in [
            "data:image/png;base64",
            "data:image/png,abc",
            "data:image/png;base64,A",
            "data:image/png;base64,AAAAA",
            "data:image/png;base64,AA=A",
            "data:image/png;base64,AA!A",
            "data:image/png;base64,AA%41",
            "data:image/png;base64,%",
            "data:image/png;base64,äöü",
        ] {
            let refusal = read_data_url(url, LIMIT).unwrap_err();
            assert!(matches!(refusal, MediaError::NotBase64 { .. }), "{url}: {refusal:?}");
        }
        for url in ["data:image/png;base64,", "data:image/png;base64,==", "data:image/png;base64, \n"] {
            assert_eq!(read_data_url(url, LIMIT), Err(MediaError::Empty), "{url}");
        }
    }

    #[test]
    fn the_limit_is_met_to_the_byte() {
        let text = |bytes: usize| LENIENT.encode(vec![7; bytes]);
        assert_eq!(read_base64(&text(LIMIT), LIMIT).unwrap().len(), LIMIT);
        for over in [LIMIT + 1, LIMIT + 2, LIMIT + 3] {
            let refusal = MediaError::TooManyBytes { found_bytes: over, limit_bytes: LIMIT };
            assert_eq!(read_base64(&text(over), LIMIT), Err(refusal));
        }
    }

    proptest! {
        #[test]
        fn bytes_survive_wrapping_and_the_other_alphabet(
            bytes in prop::collection::vec(any::<u8>(), 1..200),
            width in 1usize..80,
        ) {
            let text = LENIENT.encode(&bytes);
            let lines: Vec<String> =
                text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            let wrapped = lines.join("\r\n");
            prop_assert_eq!(&read_base64(&wrapped, LIMIT).unwrap(), &bytes);
            let other = wrapped.replace('+', "-").replace('/', "_").replace('=', "");
            prop_assert_eq!(&read_base64(&other, LIMIT).unwrap(), &bytes);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>()) {
            let _ = read_data_url(&text, LIMIT);
            let _ = read_data_url(&format!("data:;base64,{text}"), LIMIT);
        }
    }
}
