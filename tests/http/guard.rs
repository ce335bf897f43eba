//! Who may speak to the server.

use serde_json::json;

use crate::rig::{CHAT, Rig, chat, settings};

const ROUTES: [(&str, &str); 9] = [
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/v1/models"),
    ("GET", "/admin/stats"),
    ("GET", "/nothing"),
    ("POST", CHAT),
    ("POST", "/admin/worker/unload"),
    ("POST", "/admin/worker/restart"),
];

#[tokio::test]
async fn every_route_refuses_a_foreign_host_before_anything_else() {
    let rig = Rig::new(json!([{}])).await;
    for (method, path) in ROUTES {
        let bytes = format!("{method} {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
        let answer = rig.raw(bytes.as_bytes()).await;
        assert_eq!(answer.error(), (403, "forbidden".into()), "{path}");
        assert!(answer.body.contains("Host"), "{}", answer.body);
    }
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    rig.end().await;
}

#[tokio::test]
async fn every_route_refuses_a_foreign_page() {
    let rig = Rig::new(json!([{}])).await;
    for headers in [
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
        "origin: tauri://localhost\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
    ] {
        for (method, path) in ROUTES {
            let answer = rig.ask(method, path, headers, &chat(json!({}))).await;
            assert_eq!(answer.error(), (403, "forbidden".into()), "{path} {headers}");
        }
    }
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    rig.end().await;
}

#[tokio::test]
async fn a_request_without_a_host_is_refused() {
    let rig = Rig::new(json!([{}])).await;
    let answer = rig.raw(b"GET /health HTTP/1.0\r\n\r\n").await;
    assert_eq!(answer.error(), (403, "forbidden".into()));
    rig.end().await;
}

#[tokio::test]
async fn a_preflight_gets_no_permission() {
    let rig = Rig::new(json!([{}])).await;
    let headers = "origin: http://evil.example\r\naccess-control-request-method: POST\r\n";
    let answer = rig.ask("OPTIONS", CHAT, headers, "").await;
    assert_eq!(answer.status, 403);
    assert!(!answer.head.to_lowercase().contains("access-control"));
    rig.end().await;
}

#[tokio::test]
async fn our_own_page_and_plain_clients_are_answered() {
    let rig = Rig::new(json!([{}])).await;
    let own = format!("origin: http://127.0.0.1:{}\r\nsec-fetch-site: same-origin\r\n", rig.port);
    for headers in ["", own.as_str(), "sec-fetch-mode: cors\r\n", "sec-fetch-site: none\r\n"] {
        let answer = rig.ask("POST", CHAT, headers, &chat(json!({}))).await;
        assert_eq!(answer.status, 200, "{headers}");
    }
    rig.end().await;
}

#[tokio::test]
async fn every_answer_carries_the_headers_that_keep_browsers_in_bounds() {
    let rig = Rig::new(json!([{}])).await;
    for (method, path) in ROUTES {
        let answer = rig.ask(method, path, "", "{}").await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{path}");
        assert!(answer.header("x-request-id").is_some(), "{path}");
    }
    rig.end().await;
}

#[tokio::test]
async fn with_a_key_every_route_but_health_and_the_page_wants_it() {
    let mut settings = settings();
    settings.server.api_key = serde_json::from_value(json!("a-long-key")).unwrap();
    let rig = Rig::with(settings, json!([{}])).await;
    let with = "authorization: Bearer a-long-key\r\n";
    for (method, path) in ROUTES {
        let open = matches!(path, "/" | "/health");
        for headers in ["", "authorization: Bearer another-key\r\n"] {
            let answer = rig.ask(method, path, headers, &chat(json!({}))).await;
            if open {
                assert_eq!(answer.status, 200, "{path}");
            } else {
                assert_eq!(answer.error(), (403, "forbidden".into()), "{path}");
                assert_eq!(answer.json()["error"]["param"], "Authorization", "{path}");
            }
            assert!(!answer.body.contains("a-long-key"), "{path}");
        }
    }
    assert_eq!(rig.worker.snapshot().counters.worker_starts, 0);
    assert_eq!(rig.ask("POST", CHAT, with, &chat(json!({}))).await.status, 200);
    assert_eq!(rig.ask("GET", "/admin/stats", with, "").await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_name_that_is_configured_is_answered_but_not_on_admin_routes() {
    let mut settings = settings();
    settings.server.allowed_hosts = serde_json::from_value(json!(["box.lan"])).unwrap();
    let rig = Rig::with(settings, json!([{}])).await;
    let by_name = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: box.lan\r\nconnection: close\r\n\r\n");
    assert_eq!(rig.raw(by_name("/v1/models").as_bytes()).await.status, 200);
    let refused = rig.raw(by_name("/admin/stats").as_bytes()).await;
    assert_eq!(refused.error(), (403, "forbidden".into()));
    rig.end().await;
}
