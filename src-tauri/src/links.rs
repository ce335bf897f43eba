//! Where a link in the window may lead. Only a decision: what follows from it is done elsewhere.

use tauri::Url;

/// Address of the bundled page that asks for another try.
const RETRY: &str = "hangar:retry";
/// Scheme of the pages bundled with the app.
const BUNDLED: &str = "tauri";

/// What becomes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The window goes there.
    Stay,
    /// The server is tried again.
    Retry,
    /// The system's own program opens it.
    Outside,
    /// Nothing opens it.
    Nowhere,
}

/// Decides by the address alone; `service` is our server's.
pub(crate) fn way(link: &Url, service: Option<&Url>) -> Way {
    if link.as_str() == RETRY {
        return Way::Retry;
    }
    let ours = service.is_some_and(|service| service.origin() == link.origin());
    match link.scheme() {
        // It tells why there is no server; the way back to it is closed once there is one.
        BUNDLED if link.host_str() == Some("localhost") && service.is_none() => Way::Stay,
        "about" if link.path() == "blank" => Way::Stay,
        "http" | "https" if ours => Way::Stay,
        "http" | "https" | "mailto" => Way::Outside,
        _ => Way::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(link: &str) -> Way {
        let service = Url::parse("http://127.0.0.1:4017/").unwrap();
        way(&Url::parse(link).unwrap(), Some(&service))
    }

    #[test]
    fn our_own_pages_stay_in_the_window() {
        for link in ["http://127.0.0.1:4017/", "http://127.0.0.1:4017/x?y#z", "about:blank"] {
            assert_eq!(to(link), Way::Stay, "{link}");
        }
    }

    #[test]
    fn another_origin_goes_to_the_systems_browser() {
        for link in [
            "http://127.0.0.1:4018/",
            "http://localhost:4017/",
            "https://127.0.0.1:4017/",
            "http://127.0.0.1.example:4017/",
            "http://127.0.0.1:4017@host.example/",
            "https://github.com/",
            "mailto:somebody@host.example",
        ] {
            assert_eq!(to(link), Way::Outside, "{link}");
        }
    }

    #[test]
    fn programs_and_files_are_opened_by_nobody() {
        for link in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/html,x",
            "vscode://x",
            "ssh://host.example",
            "tauri://elsewhere/",
            "tauri://localhost/index.html",
            "hangar:other",
            "about:srcdoc",
        ] {
            assert_eq!(to(link), Way::Nowhere, "{link}");
        }
    }

    #[test]
    fn another_try_is_asked_for_by_its_own_address() {
        assert_eq!(to("hangar:retry"), Way::Retry);
    }

    #[test]
    fn without_a_server_every_site_is_elsewhere_and_the_bundled_page_is_shown() {
        assert_eq!(way(&Url::parse("tauri://localhost/index.html?what=x").unwrap(), None), Way::Stay);
        assert_eq!(way(&Url::parse("http://127.0.0.1:4017/").unwrap(), None), Way::Outside);
    }
}
