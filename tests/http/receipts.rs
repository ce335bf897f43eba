//! Receipts of requests.

use hangar_supervisor::StateWord;
use serde_json::{Value, json};

use crate::client::request;
use crate::rig::{CHAT, Rig, chat};

async fn receipt(rig: &Rig, id: &str) -> Value {
    rig.get(&format!("/admin/requests/{id}")).await.json()
}

#[tokio::test]
async fn an_answered_request_has_a_receipt_under_its_id_with_its_figures() {
    let rig = Rig::new(json!([{}])).await;
    for stream in [false, true] {
        let id = format!("mine-{stream}");
        let headers = format!("x-request-id: {id}\r\n");
        let answer = rig.ask("POST", CHAT, &headers, &chat(json!({"stream": stream}))).await;
        assert_eq!(answer.status, 200);
        let receipt = receipt(&rig, &id).await;
        assert_eq!((&receipt["id"], &receipt["outcome"]), (&json!(id), &json!("answered")));
        assert_eq!((&receipt["profile"], &receipt["stream"]), (&json!("pocket"), &json!(stream)));
        assert_eq!(
            receipt["tokens"],
            json!({"prompt": 3, "prefill_new": 3, "prefill_cached": 0, "completion": 2})
        );
        for figure in ["queue_ms", "load_ms", "prefill_ms", "decode_ms", "first_text_ms", "total_ms"] {
            assert!(receipt["timings"][figure].is_f64(), "{figure}: {receipt}");
        }
        assert_eq!((&receipt["worker"]["generation"], &receipt["governor"]), (&json!(1), &json!(null)));
        assert_eq!(receipt["worker"]["pid"], json!(rig.worker.snapshot().pid));
        assert!(receipt["memory"]["before"].is_object() && receipt["memory"]["after"].is_object());
    }
    let listed = rig.get("/admin/requests").await.json();
    let ids: Vec<_> =
        listed["data"].as_array().unwrap().iter().map(|receipt| receipt["id"].clone()).collect();
    assert_eq!(ids, ["mine-true", "mine-false"]);
    rig.end().await;
}

#[tokio::test]
async fn refused_broken_and_abandoned_requests_have_receipts_too() {
    let rig = Rig::new(json!([{"ending": "crash"}, {"ending": "wedge"}])).await;
    let with_id = |id: &str| format!("x-request-id: {id}\r\n");
    rig.ask("POST", CHAT, &with_id("refused"), r#"{"messages":[{"role":"user","content":"secret"}],"n":7}"#)
        .await;
    rig.ask("POST", CHAT, &with_id("broken"), &chat(json!({"stream": true}))).await;
    let mut left =
        rig.begin(&request(rig.port, "POST", CHAT, &with_id("left"), &chat(json!({"stream": true})))).await;
    left.until("world").await;
    drop(left);
    rig.state(StateWord::Ready).await;
    let refused = receipt(&rig, "refused").await;
    assert_eq!(refused["outcome"], "refused");
    assert_eq!(refused["error"], json!({"status": 400, "type": "unsupported_request", "param": "n"}));
    let broken = receipt(&rig, "broken").await;
    assert_eq!((&broken["outcome"], &broken["error"]["type"]), (&json!("broken"), &json!("worker_crashed")));
    assert_eq!(broken["worker"]["generation"], 1);
    let left = receipt(&rig, "left").await;
    assert_eq!((&left["outcome"], &left["worker"]["generation"]), (&json!("client_gone"), &json!(2)));
    assert!(!rig.get("/admin/requests").await.body.contains("secret"));
    rig.end().await;
}

#[tokio::test]
async fn an_unknown_receipt_is_not_found() {
    let rig = Rig::new(json!([{}])).await;
    assert_eq!(rig.get("/admin/requests/none").await.error(), (404, "not_found".into()));
    rig.end().await;
}

#[tokio::test]
async fn receipts_of_one_profile_are_listed_alone() {
    let rig = Rig::new(json!([{}])).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    assert_eq!(rig.chat(json!({"model": "diffusion"})).await.status, 422);
    let count = async |path: &str| rig.get(path).await.json()["data"].as_array().unwrap().len();
    assert_eq!(count("/admin/requests").await, 2);
    assert_eq!(count("/admin/requests?profile=pocket").await, 1);
    assert_eq!(count("/profiles/pocket/admin/requests").await, 1);
    assert_eq!(rig.get("/admin/requests?profile=nobody").await.status, 404);
    rig.end().await;
}
