//! Ids of requests and answers.

use std::fmt;
use std::iter::repeat_with;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries a request's id, both ways.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over from a client.
const LONGEST_BYTES: usize = 128;

/// Letters and digits only: clients strip everything else from ids they send back.
pub(crate) fn random(length: usize) -> String {
    repeat_with(fastrand::alphanumeric).take(length).collect()
}

/// Letters and digits that nobody can guess, almost six bits each; without a source of chance there is no safe id.
pub(crate) fn secret(length: usize) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = String::with_capacity(length);
    let mut bytes = [0; 64];
    while text.len() < length {
        if getrandom::fill(&mut bytes).is_err() {
            // The system has no chance to give only where it could not run this program either.
            std::process::abort();
        }
        // Those beyond the last whole round would make the first letters likelier.
        let even =
            bytes.iter().filter(|byte| **byte < 248).map(|byte| char::from(LETTERS[usize::from(byte % 62)]));
        text.extend(even.take(length - text.len()));
    }
    text
}

/// Id of one HTTP request: visible ASCII, so that it can stand in a header, a log line and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestIdent(Arc<str>);

impl RequestIdent {
    /// The client's own id where it sent exactly one that is well-formed, else a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut sent = headers.get_all(REQUEST_ID).iter();
        match (sent.next(), sent.next()) {
            (Some(only), None) => well_formed(only).map_or_else(Self::fresh, |text| Self(text.into())),
            (Some(_) | None, _) => Self::fresh(),
        }
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// As a header's value; there is one for every id.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }

    fn fresh() -> Self {
        Self(random(16).into())
    }
}

impl fmt::Display for RequestIdent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn well_formed(value: &HeaderValue) -> Option<&str> {
    let bytes = value.as_bytes();
    let fits = (1..=LONGEST_BYTES).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic);
    fits.then(|| value.to_str().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sent: &[&[u8]]) -> String {
        let mut headers = HeaderMap::new();
        for value in sent {
            headers.append(REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        }
        RequestIdent::of(&headers).to_string()
    }

    #[test]
    fn a_well_formed_id_of_the_client_is_taken_over() {
        let longest = "x".repeat(128);
        for id in ["a", "3f0e~!:/0", longest.as_str()] {
            assert_eq!(of(&[id.as_bytes()]), id);
        }
    }

    #[test]
    fn every_other_id_is_made_anew() {
        let too_long = "x".repeat(129);
        let bad: [&[&[u8]]; 6] =
            [&[], &[b""], &[b"a b"], &["é".as_bytes()], &[too_long.as_bytes()], &[b"one", b"two"]];
        for sent in bad {
            let made = of(sent);
            assert!(made.len() == 16 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
        }
    }
}
