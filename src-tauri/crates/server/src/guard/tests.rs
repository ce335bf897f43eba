//! Who is let in, and what for nobody is.

use axum::http::HeaderValue;
use hangar_config::{Environment, Home};

use super::*;

const PORT: u16 = 4017;

#[expect(clippy::unwrap_in_result, reason = "test values are well-formed")]
fn ask_with(
    local: &str,
    target: &str,
    peer: Option<&str>,
    pairs: &[(&'static str, &str)],
) -> Result<(), Refusal> {
    let policy = Policy::new(PORT, &server(local));
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let uri: Uri = target.parse().unwrap();
    let peer = peer.map(|peer| peer.parse().unwrap());
    check(Asked { method: &Method::GET, headers: &headers, uri: &uri, peer }, &policy)
}

fn ask_at(target: &str, peer: Option<&str>, pairs: &[(&'static str, &str)]) -> Result<(), Refusal> {
    ask_with("{}", target, peer, pairs)
}

/// Settings of a server as a local file has them.
fn server(local: &str) -> ServerSettings {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().display().to_string();
    let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap();
    std::fs::write(home.local_config(), format!("{{\"server\": {local}}}")).unwrap();
    hangar_config::load(&home, &Environment::default()).unwrap().settings.server
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
    for host in ["127.0.0.1:4017", "localhost:4017", "[::1]:4017", "LOCALHOST:4017", "localhost", "[::1]"] {
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

#[test]
fn the_list_of_sessions_is_for_this_machine_and_a_session_for_who_knows_it() {
    let host = [("host", "localhost:4017")];
    assert_eq!(ask_at("/v1/si-drones", Some("192.168.1.7"), &host), Err(Refusal::PeerNotLocal));
    assert_eq!(ask_at("/v1/si-drones", Some("127.0.0.1"), &host), Ok(()));
    assert_eq!(ask_at("/v1/si-drones/sidr_x", Some("192.168.1.7"), &host), Ok(()));
}

#[test]
fn admin_routes_of_a_profile_are_admin_routes_too() {
    let host = [("host", "localhost:4017")];
    for path in [
        "/profiles/e2b/admin/worker/unload",
        "/profiles/a.b/admin",
        "/profiles/e2b//admin/stats",
        "//admin/stats",
    ] {
        assert_eq!(ask_at(path, Some("192.168.1.7"), &host), Err(Refusal::PeerNotLocal), "{path}");
        assert_eq!(ask_at(path, Some("127.0.0.1"), &host), Ok(()), "{path}");
    }
    for path in ["/profiles/admin/chat", "/administer", "/v1/admin"] {
        assert_eq!(ask_at(path, Some("192.168.1.7"), &host), Ok(()), "{path}");
    }
}

const OPEN: &str = r#"{"host": "0.0.0.0", "allowedHosts": ["box.example", "proxy.example:443", "[fd00::1]"], "apiKey": "a-long-key"}"#;
const KEY: (&str, &str) = ("authorization", "Bearer a-long-key");

#[test]
fn a_configured_name_is_a_name_of_ours_and_nothing_that_looks_like_it() {
    let by = |host: &str| ask_with(OPEN, "/v1/models", Some("192.168.1.7"), &[("host", host), KEY]);
    for host in
        ["box.example", "BOX.example:4017", "proxy.example:443", "[fd00::1]", "[fd00::1]:4017", "localhost"]
    {
        assert_eq!(by(host), Ok(()), "{host}");
    }
    for host in [
        "box.example:80",
        "proxy.example",
        "proxy.example:4017",
        "sbox.example",
        "box.example.evil.example",
        "192.168.1.2:4017",
    ] {
        assert_eq!(by(host), Err(Refusal::HostForeign), "{host}");
    }
}

#[test]
fn the_page_at_a_configured_name_is_our_own_page() {
    let from = |origin: &str| {
        let pairs = [("host", "box.example:4017"), ("origin", origin), KEY];
        ask_with(OPEN, "/v1/models", Some("192.168.1.7"), &pairs)
    };
    for origin in ["http://box.example:4017", "https://proxy.example", "https://proxy.example:443"] {
        assert_eq!(from(origin), Ok(()), "{origin}");
    }
    for origin in [
        "http://box.example",
        "https://box.example:4017",
        "http://proxy.example",
        "http://box.example:4018",
        "null",
    ] {
        assert_eq!(from(origin), Err(Refusal::OriginForeign), "{origin}");
    }
}

#[test]
fn admin_stays_on_this_machine_unless_it_is_opened() {
    let admin = |local: &str, peer: &str, host: &str| {
        ask_with(local, "/admin/stats", Some(peer), &[("host", host), KEY])
    };
    assert_eq!(admin(OPEN, "192.168.1.7", "box.example"), Err(Refusal::PeerNotLocal));
    assert_eq!(admin(OPEN, "127.0.0.1", "localhost:4017"), Ok(()));
    // A proxy here that speaks for somebody elsewhere.
    assert_eq!(admin(OPEN, "127.0.0.1", "proxy.example:443"), Err(Refusal::PeerNotLocal));
    let opened = OPEN.replace("\"apiKey\"", "\"adminLocalOnly\": false, \"apiKey\"");
    assert_eq!(admin(&opened, "192.168.1.7", "box.example"), Ok(()));
}

#[test]
fn no_header_makes_a_caller_local() {
    for name in ["x-forwarded-for", "x-real-ip", "forwarded", "via"] {
        let pairs = [("host", "localhost:4017"), (name, "127.0.0.1")];
        assert_eq!(ask_at("/admin/stats", Some("192.168.1.7"), &pairs), Err(Refusal::PeerNotLocal), "{name}");
    }
}

#[test]
fn a_key_is_wanted_everywhere_but_for_the_sign_of_life_and_the_page_s_files() {
    let with = |path: &str, key: Option<&str>| {
        let mut pairs = vec![("host", "localhost:4017")];
        pairs.extend(key.map(|key| ("authorization", key)));
        ask_with(r#"{"apiKey": "a-long-key"}"#, path, Some("127.0.0.1"), &pairs)
    };
    for path in [
        "/v1/models",
        "/v1/chat/completions",
        "/ready",
        "/admin/stats",
        "/metrics",
        "/nothing",
        "/health/",
        "/assetsx",
        "/v1",
    ] {
        assert_eq!(with(path, None), Err(Refusal::KeyMissing), "{path}");
        for key in ["Bearer a-long-key", "bearer  a-long-key", "BEARER a-long-key "] {
            assert_eq!(with(path, Some(key)), Ok(()), "{path} {key}");
        }
        for key in ["Bearer a-long-kez", "Bearer a-long-ke", "Bearer a-long-keyy", "Bearer A-LONG-KEY"] {
            assert_eq!(with(path, Some(key)), Err(Refusal::KeyWrong), "{path} {key}");
        }
        for key in ["", "Bearer", "Bearer ", "a-long-key", "Basic a-long-key"] {
            assert_eq!(with(path, Some(key)), Err(Refusal::KeyMissing), "{path} {key}");
        }
    }
    for path in ["/health", "/", "/index.html", "/assets/index-1.js", "/hangar.svg"] {
        assert_eq!(with(path, None), Ok(()), "{path}");
    }
    let twice = [("host", "localhost:4017"), KEY, KEY];
    assert_eq!(ask_with(r#"{"apiKey": "a-long-key"}"#, "/ready", None, &twice), Err(Refusal::KeyMissing));
}

#[test]
fn only_looking_at_the_page_is_open() {
    let policy = Policy::new(PORT, &server(r#"{"apiKey": "a-long-key"}"#));
    let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("localhost"))]);
    let uri: Uri = "/".parse().unwrap();
    for (method, expected) in
        [(Method::GET, Ok(())), (Method::HEAD, Ok(())), (Method::POST, Err(Refusal::KeyMissing))]
    {
        assert_eq!(
            check(Asked { method: &method, headers: &headers, uri: &uri, peer: None }, &policy),
            expected
        );
    }
}

#[test]
fn neither_policy_nor_refusal_prints_the_key() {
    let policy = Policy::new(PORT, &server(OPEN));
    assert!(!format!("{policy:?}").contains("a-long-key"));
}
