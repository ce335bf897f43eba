//! What the bundled page says when there is no server to load a page from.

use hangar_server::{HostError, InstanceError, StartError};
use tauri::Url;

/// Address of the bundled page.
const PAGE: &str = "tauri://localhost/index.html";

/// Why there is no server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What happened.
    pub(crate) what: String,
    /// What a person can do.
    pub(crate) cure: Option<String>,
    /// Page of the server that has the state folder.
    pub(crate) holder_url: Option<String>,
}

impl Trouble {
    /// The server did not come up.
    pub(crate) fn of_start(error: &StartError) -> Self {
        let holder_url = match error {
            StartError::Host(HostError::Instance(InstanceError::Held { hint: Some(hint), .. })) => {
                Some(hint.url.clone())
            }
            StartError::Host(HostError::Instance(_) | HostError::Home(_) | HostError::Port(_))
            | StartError::Home(_)
            | StartError::Config(_)
            | StartError::Resources(_) => None,
        };
        Self { what: error.to_string(), cure: error.cure(), holder_url }
    }

    /// The server ended though nobody asked for it.
    pub(crate) fn of_end(error: Option<&HostError>) -> Self {
        let what = error.map_or_else(|| "the server has ended".to_owned(), ToString::to_string);
        Self { what, cure: error.and_then(HostError::cure), holder_url: None }
    }

    /// The bundled page with these words, after so many tries.
    pub(crate) fn page(&self, tries: u32) -> Option<Url> {
        let mut page = Url::parse(PAGE).ok()?;
        let mut words = page.query_pairs_mut();
        words.append_pair("what", &self.what).append_pair("tries", &tries.to_string());
        for (name, value) in [("cure", &self.cure), ("holder", &self.holder_url)] {
            if let Some(value) = value {
                words.append_pair(name, value);
            }
        }
        drop(words);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use hangar_server::InstanceHint;

    use super::*;

    fn held(hint: Option<InstanceHint>) -> Trouble {
        let held = InstanceError::Held { home: PathBuf::from("/somewhere"), hint };
        Trouble::of_start(&StartError::Host(HostError::Instance(held)))
    }

    #[test]
    fn a_folder_that_is_served_names_who_serves_it() {
        let hint = InstanceHint {
            pid: 7,
            started_at: 0,
            port: 4017,
            url: "http://127.0.0.1:4017".to_owned(),
            version: "1".to_owned(),
        };
        let trouble = held(Some(hint));
        assert!(trouble.what.contains("/somewhere") && trouble.what.contains('7'), "{}", trouble.what);
        assert_eq!(trouble.holder_url.as_deref(), Some("http://127.0.0.1:4017"));
        assert!(trouble.cure.is_some());
        assert_eq!(held(None).holder_url, None);
    }

    #[test]
    fn words_reach_the_page_whole_whatever_they_hold() {
        let what = "<b>50 % & more</b>\n\"ünïcode\" #?=+";
        let trouble = Trouble { what: what.to_owned(), cure: None, holder_url: None };
        let page = trouble.page(2).unwrap();
        assert_eq!(page.path(), "/index.html");
        assert_eq!(page.fragment(), None);
        let words: Vec<(String, String)> = page.query_pairs().into_owned().collect();
        assert_eq!(words, [("what".to_owned(), what.to_owned()), ("tries".to_owned(), "2".to_owned())]);
    }
}
