//! Who may speak to the server: deciding is pure, the middleware only gathers what to decide on.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request is turned away before anything looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No Host header, or several.
    #[error(
        "The request carries no single Host header. Send one that names this machine, such as localhost."
    )]
    HostMissing,
    /// Host is not this machine, or names another port.
    #[error("The Host header does not name this server. Use 127.0.0.1, localhost or [::1] with its port.")]
    HostForeign,
    /// Origin is another page, an opaque one, or there are several.
    #[error("The Origin header is not this server's own page. Other web pages may not use it.")]
    OriginForeign,
    /// The browser says that another site asks.
    #[error("The Sec-Fetch-Site header says that another site asks. Open the address by hand instead.")]
    CrossSite,
    /// The peer is not on this machine.
    #[error("Admin routes answer callers on this machine only.")]
    PeerNotLocal,
}

/// What the guard looks at.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The request target.
    pub uri: &'a Uri,
    /// Address of the other end, if known.
    pub peer: Option<IpAddr>,
}

/// Decides on one request to the server on `port`.
///
/// # Errors
/// [`Refusal`] names what was wrong. Sec-Fetch-Mode is never looked at: Node's fetch sends it too.
pub fn check(asked: Asked<'_>, port: u16) -> Result<(), Refusal> {
    let host = single(asked.headers, &header::HOST).map_err(|_| Refusal::HostMissing)?;
    let host = host.ok_or(Refusal::HostMissing)?;
    if !names_us(host, port) {
        return Err(Refusal::HostForeign);
    }
    // An absolute request target overrides Host for whoever routes by it, so it has to agree.
    if let Some(authority) = asked.uri.authority()
        && !names_us(authority.as_str(), port)
    {
        return Err(Refusal::HostForeign);
    }
    let origin = single(asked.headers, &header::ORIGIN).map_err(|_| Refusal::OriginForeign)?;
    if origin.is_some_and(|origin| !is_our_origin(origin, port)) {
        return Err(Refusal::OriginForeign);
    }
    match single(asked.headers, &SEC_FETCH_SITE).map_err(|_| Refusal::CrossSite)? {
        None | Some("same-origin" | "none") => {}
        // Another port of this machine is another program's page.
        Some("same-site") if origin.is_some() => {}
        Some(_) => return Err(Refusal::CrossSite),
    }
    let path = asked.uri.path();
    let is_admin = path == "/admin" || path.starts_with("/admin/");
    if is_admin && !asked.peer.is_some_and(|peer| peer.to_canonical().is_loopback()) {
        return Err(Refusal::PeerNotLocal);
    }
    Ok(())
}

/// The guard as middleware; the state is the port listened on.
pub(crate) async fn guard(State(port): State<u16>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let asked = Asked { headers: request.headers(), uri: request.uri(), peer };
    match check(asked, port) {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError::Forbidden(refusal).into_response(),
    }
}

struct NotSingle;

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, NotSingle> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(NotSingle);
    }
    first.to_str().map(Some).map_err(|_| NotSingle)
}

fn names_us(host: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        let Some(head) = host.get(..name.len()) else {
            return false;
        };
        if !head.eq_ignore_ascii_case(name) {
            return false;
        }
        let rest = &host[name.len()..];
        rest.is_empty() || rest.strip_prefix(':') == Some(port.to_string().as_str())
    })
}

fn is_our_origin(origin: &str, port: u16) -> bool {
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| origin == format!("http://{name}:{port}"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const PORT: u16 = 4017;

    #[expect(clippy::unwrap_in_result, reason = "test values are well-formed")]
    fn ask_at(target: &str, peer: Option<&str>, pairs: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let uri: Uri = target.parse().unwrap();
        let peer = peer.map(|peer| peer.parse().unwrap());
        check(Asked { headers: &headers, uri: &uri, peer }, PORT)
    }

    fn ask(pairs: &[(&'static str, &str)]) -> Result<(), Refusal> {
        ask_at("/v1/models", Some("127.0.0.1"), pairs)
    }

    fn with_host(pairs: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut all = vec![("host", "localhost:4017")];
        all.extend_from_slice(pairs);
        ask(&all)
    }

    #[test]
    fn loopback_hosts_pass_with_our_port_or_none() {
        for host in ["127.0.0.1:4017", "localhost:4017", "[::1]:4017", "LOCALHOST:4017", "localhost", "[::1]"]
        {
            assert_eq!(ask(&[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        for host in [
            "evil.example",
            "evil.example:4017",
            "localhost:4018",
            "localhost.evil.example:4017",
            "127.0.0.1.",
            "localhost:04017",
            "localhost:",
            "127.0.0.2:4017",
            "0.0.0.0:4017",
            "",
            "user@localhost:4017",
            "localhost:4017:4017",
            "::1",
            "é",
        ] {
            let refusal = ask(&[("host", host)]).unwrap_err();
            assert!(matches!(refusal, Refusal::HostForeign | Refusal::HostMissing), "{host}");
        }
    }

    #[test]
    fn a_missing_or_repeated_host_is_refused() {
        assert_eq!(ask(&[]), Err(Refusal::HostMissing));
        let twice = ask(&[("host", "localhost:4017"), ("host", "evil.example")]);
        assert_eq!(twice, Err(Refusal::HostMissing));
    }

    #[test]
    fn an_absolute_target_must_name_us_too() {
        let host = [("host", "localhost:4017")];
        assert_eq!(ask_at("http://evil.example/health", None, &host), Err(Refusal::HostForeign));
        assert_eq!(ask_at("http://localhost:4017/health", None, &host), Ok(()));
    }

    #[test]
    fn our_own_page_passes_and_every_other_origin_is_refused() {
        for origin in ["http://127.0.0.1:4017", "http://localhost:4017", "http://[::1]:4017"] {
            assert_eq!(with_host(&[("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "tauri://localhost",
            "https://localhost:4017",
            "http://localhost",
            "http://localhost:4018",
            "http://evil.example",
            "http://localhost:4017.evil.example",
            "http://localhost:4017/",
            "",
            "file://",
        ] {
            assert_eq!(with_host(&[("origin", origin)]), Err(Refusal::OriginForeign), "{origin}");
        }
        let twice = [("origin", "http://localhost:4017"), ("origin", "http://evil.example")];
        assert_eq!(with_host(&twice), Err(Refusal::OriginForeign));
    }

    #[test]
    fn only_our_own_site_may_fetch() {
        assert_eq!(with_host(&[("sec-fetch-site", "same-origin")]), Ok(()));
        assert_eq!(with_host(&[("sec-fetch-site", "none")]), Ok(()));
        assert_eq!(with_host(&[("sec-fetch-site", "cross-site")]), Err(Refusal::CrossSite));
        assert_eq!(with_host(&[("sec-fetch-site", "same-site")]), Err(Refusal::CrossSite));
        assert_eq!(with_host(&[("sec-fetch-site", "whatever")]), Err(Refusal::CrossSite));
        let ours = [("sec-fetch-site", "same-site"), ("origin", "http://localhost:4017")];
        assert_eq!(with_host(&ours), Ok(()));
    }

    #[test]
    fn the_mode_that_node_clients_send_changes_nothing() {
        assert_eq!(with_host(&[("sec-fetch-mode", "cors")]), Ok(()));
    }

    #[test]
    fn admin_needs_a_peer_on_this_machine() {
        let host = [("host", "localhost:4017")];
        for path in ["/admin/stats", "/admin/worker/unload", "/admin"] {
            assert_eq!(ask_at(path, Some("127.0.0.1"), &host), Ok(()));
            assert_eq!(ask_at(path, Some("::1"), &host), Ok(()));
            assert_eq!(ask_at(path, Some("::ffff:127.0.0.1"), &host), Ok(()));
            assert_eq!(ask_at(path, Some("192.168.1.7"), &host), Err(Refusal::PeerNotLocal));
            assert_eq!(ask_at(path, None, &host), Err(Refusal::PeerNotLocal));
        }
        assert_eq!(ask_at("/health", Some("192.168.1.7"), &host), Ok(()));
    }
}
