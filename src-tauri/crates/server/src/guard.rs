//! Who may speak to the server: deciding is pure, the middleware only gathers what to decide on.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hangar_config::{ApiKey, ServerSettings};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::ApiError;
use crate::routes::DRONES;

/// What this machine calls itself.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
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
    /// The peer is not on this machine, or came in by a name that others use.
    #[error(
        "Admin routes and the list of sessions answer callers on this machine only. Ask 127.0.0.1 there, or set server.adminLocalOnly to false."
    )]
    PeerNotLocal,
    /// A key is wanted and none is shown, or several are.
    #[error(
        "This server wants a key. Send it as 'Authorization: Bearer <key>': it is server.apiKey of its local.json."
    )]
    KeyMissing,
    /// The key shown is another one.
    #[error("The key is not this server's. Send the one that is server.apiKey of its local.json.")]
    KeyWrong,
}

impl Refusal {
    /// The header that was wrong, where one was.
    pub fn header(self) -> Option<&'static str> {
        match self {
            Self::HostMissing | Self::HostForeign => Some("Host"),
            Self::OriginForeign => Some("Origin"),
            Self::CrossSite => Some("Sec-Fetch-Site"),
            Self::PeerNotLocal => None,
            Self::KeyMissing | Self::KeyWrong => Some("Authorization"),
        }
    }
}

/// Who may speak to a server.
#[derive(Clone, Debug)]
pub struct Policy {
    port: u16,
    allowed_hosts: Vec<String>,
    api_key: Option<ApiKey>,
    admin_local_only: bool,
}

impl Policy {
    /// What these settings mean for a server on `port`.
    pub fn new(port: u16, server: &ServerSettings) -> Self {
        Self {
            port,
            allowed_hosts: server.allowed_hosts.iter().map(|host| host.as_str().to_owned()).collect(),
            api_key: server.api_key.clone(),
            admin_local_only: server.admin_local_only,
        }
    }

    /// A name of loopback, with our port or none.
    fn is_loopback(&self, host: &str) -> bool {
        LOOPBACK.iter().any(|name| is_name(host, name, self.port))
    }

    /// A name this server may be called by. One that was configured with a port must come with that port.
    fn names_us(&self, host: &str) -> bool {
        let allowed = |name: &String| {
            if has_port(name) { host.eq_ignore_ascii_case(name) } else { is_name(host, name, self.port) }
        };
        self.is_loopback(host) || self.allowed_hosts.iter().any(allowed)
    }

    /// Our own page: by plain HTTP at our port or, behind a proxy, wherever a name with a port says.
    fn is_our_origin(&self, origin: &str) -> bool {
        let is = |ours: String| origin.eq_ignore_ascii_case(&ours);
        let allowed = |name: &String| {
            if !has_port(name) {
                return is(format!("http://{name}:{}", self.port));
            }
            // Browsers leave out the port that goes with the scheme.
            let short = |scheme: &str, port: &str| {
                name.strip_suffix(port).is_some_and(|bare| is(format!("{scheme}://{bare}")))
            };
            is(format!("http://{name}"))
                || is(format!("https://{name}"))
                || short("http", ":80")
                || short("https", ":443")
        };
        LOOPBACK.iter().any(|name| origin == format!("http://{name}:{}", self.port))
            || self.allowed_hosts.iter().any(allowed)
    }

    fn check_key(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(key) = &self.api_key else {
            return Ok(());
        };
        let shown = single(headers, &header::AUTHORIZATION).map_err(|_| Refusal::KeyMissing)?;
        let shown = shown.and_then(bearer).ok_or(Refusal::KeyMissing)?;
        // Digests are of one length, whatever is shown.
        let (ours, theirs) = (Sha256::digest(key.expose()), Sha256::digest(shown));
        if ours.as_slice().ct_eq(theirs.as_slice()).into() { Ok(()) } else { Err(Refusal::KeyWrong) }
    }
}

/// What the guard looks at.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// The request target.
    pub uri: &'a Uri,
    /// Address of the other end, if known.
    pub peer: Option<IpAddr>,
}

/// Decides on one request.
///
/// # Errors
/// [`Refusal`] names what was wrong. Sec-Fetch-Mode is never looked at: Node's fetch sends it too. No header is
/// believed about who asks: only the address of the connection.
pub fn check(asked: Asked<'_>, policy: &Policy) -> Result<(), Refusal> {
    let host = single(asked.headers, &header::HOST).map_err(|_| Refusal::HostMissing)?;
    let host = host.ok_or(Refusal::HostMissing)?;
    if !policy.names_us(host) {
        return Err(Refusal::HostForeign);
    }
    // An absolute request target overrides Host for whoever routes by it, so it has to agree.
    let authority = asked.uri.authority().map(axum::http::uri::Authority::as_str);
    if authority.is_some_and(|authority| !policy.names_us(authority)) {
        return Err(Refusal::HostForeign);
    }
    let origin = single(asked.headers, &header::ORIGIN).map_err(|_| Refusal::OriginForeign)?;
    if origin.is_some_and(|origin| !policy.is_our_origin(origin)) {
        return Err(Refusal::OriginForeign);
    }
    match single(asked.headers, &SEC_FETCH_SITE).map_err(|_| Refusal::CrossSite)? {
        None | Some("same-origin" | "none") => {}
        // Another port of this machine is another program's page.
        Some("same-site") if origin.is_some() => {}
        Some(_) => return Err(Refusal::CrossSite),
    }
    let path = asked.uri.path();
    if policy.admin_local_only && (is_admin(path) || lists_sessions(asked.method, path)) {
        let peer_is_local = asked.peer.is_some_and(|peer| peer.to_canonical().is_loopback());
        // A proxy on this machine has a local address whoever it speaks for; the name it was called by tells.
        let names_are_local =
            policy.is_loopback(host) && authority.is_none_or(|authority| policy.is_loopback(authority));
        if !peer_is_local || !names_are_local {
            return Err(Refusal::PeerNotLocal);
        }
    }
    if is_open(asked.method, path) { Ok(()) } else { policy.check_key(asked.headers) }
}

/// The guard as middleware.
pub(crate) async fn guard(State(policy): State<Arc<Policy>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let (method, uri) = (request.method(), request.uri());
    match check(Asked { method, headers: request.headers(), uri, peer }, &policy) {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError::Forbidden(refusal).into_response(),
    }
}

/// Admin routes, and those of one profile.
fn is_admin(path: &str) -> bool {
    let below_profile = path.strip_prefix("/profiles/").and_then(|rest| rest.split_once('/'));
    let route = below_profile.map_or(path, |(_, rest)| rest).trim_start_matches('/');
    route.split('/').next() == Some("admin")
}

/// Who knows a session's id has the session, so the list of all is for this machine alone.
fn lists_sessions(method: &Method, path: &str) -> bool {
    path == DRONES && method != Method::POST
}

/// What needs no key: the sign of life, and the page's files, which hold nothing of anybody's. What the page
/// then asks needs the key like any other caller.
fn is_open(method: &Method, path: &str) -> bool {
    let is_file = matches!(path, "/" | "/index.html" | "/hangar.svg") || path.starts_with("/assets/");
    path == "/health" || is_file && matches!(*method, Method::GET | Method::HEAD)
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

/// The token of `Bearer <token>`.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

/// Whether a host is this name, with our port or none.
fn is_name(host: &str, name: &str, port: u16) -> bool {
    let Some(head) = host.get(..name.len()) else {
        return false;
    };
    let rest = &host[name.len()..];
    head.eq_ignore_ascii_case(name)
        && (rest.is_empty() || rest.strip_prefix(':') == Some(port.to_string().as_str()))
}

/// Whether a name comes with a port; the colons of an address in brackets are none.
fn has_port(name: &str) -> bool {
    name.rsplit(']').next().is_some_and(|rest| rest.contains(':'))
}

#[cfg(test)]
mod tests;
