//! Feeds the claims about reading a chat request with whatever libFuzzer makes up.
//!
//! The modules that read are the server's own files: the whole server would take minutes to build with counters.
#![no_main]
#![allow(dead_code, clippy::allow_attributes, reason = "the server calls what is not called here")]

/// What reading a request can be refused with, as in the server's own error.
mod error {
    #[derive(Debug, PartialEq)]
    pub(crate) enum ApiError {
        BadRequest { param: Option<String>, what: String },
        UnsupportedRequest { param: String, cure: String },
        UnsupportedModality { param: String, modality: &'static str, model: String },
        Media { param: String, error: hangar_media::MediaError },
        UnsupportedMediaType { param: String, found: String, allowed: String },
        Internal,
    }
}

#[path = "../../../server/src/json/mod.rs"]
mod json;

#[path = "../../../server/src/offer.rs"]
mod offer;

#[path = "../../../server/src/media"]
mod media {
    mod found;
    pub(crate) use found::{Basket, Found};
}

#[path = "../../../server/src/chat"]
mod chat {
    mod harmless;
    mod message;
    mod past;
    pub(crate) mod request;
    mod sampling;
    mod thinking;
    pub(crate) mod tools;
}

#[path = "../../../server/src/chat/request/tests/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::requests(data));
