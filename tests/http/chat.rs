//! Whole answers and refusals.

use hangar_supervisor::StateWord;
use serde_json::json;

use crate::client::request;
use crate::rig::{CHAT, Rig, chat, settings};

#[tokio::test]
async fn an_answer_has_text_counts_and_times() {
    let rig = Rig::new(json!([{}])).await;
    let answer = rig.chat(json!({"model": "gemma-4-pocket"})).await;
    assert_eq!(answer.status, 200);
    let body = answer.json();
    assert_eq!(body["object"], "chat.completion");
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(body["choices"][0]["message"]["content"], "hello world");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["total_tokens"], 5);
    assert_eq!(body["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    assert_eq!(body["metrics"]["prefill_ms"], 1.0);
    assert!(body["metrics"]["total_ms"].as_f64().unwrap() > 0.0);
    rig.end().await;
}

#[tokio::test]
async fn a_token_limit_ends_the_answer_with_length() {
    let rig = Rig::new(json!([{}])).await;
    let body = rig.chat(json!({"max_tokens": 9, "max_completion_tokens": 1})).await.json();
    assert_eq!(body["choices"][0]["finish_reason"], "length");
    assert_eq!(body["choices"][0]["message"]["content"], "hello ");
    rig.end().await;
}

#[tokio::test]
async fn more_than_the_queue_holds_is_refused_as_the_client_likes() {
    let rig = Rig::new(json!([{"piece_delay_ms": 300}])).await;
    let running = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Busy).await;
    let waiting = rig.begin_chat(json!({})).await;
    let mut snapshots = rig.worker.subscribe();
    snapshots.wait_for(|snapshot| snapshot.queue_depth == 1).await.unwrap();
    let refused = rig.chat(json!({})).await;
    assert_eq!(refused.error(), (409, "queue_full".into()));
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(refused.json()["error"]["retryable"], true);
    let liked = rig.ask("POST", CHAT, "x-hangar-overflow: 429\r\n", &chat(json!({}))).await;
    assert_eq!(liked.error(), (429, "queue_full".into()));
    assert!(liked.header("retry-after").is_some());
    assert_eq!(running.answer().await.status, 200);
    let body = waiting.answer().await.json();
    assert!(body["metrics"]["queue_wait_ms"].as_f64().unwrap() > 100.0, "{body}");
    rig.end().await;
}

#[tokio::test]
async fn fifty_requests_too_many_leave_nothing_behind_and_no_order_changed() {
    let rig = Rig::new(json!([{"piece_delay_ms": 1500}])).await;
    let running = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Busy).await;
    let waiting = rig.begin_chat(json!({})).await;
    let mut snapshots = rig.worker.subscribe();
    snapshots.wait_for(|snapshot| snapshot.queue_depth == 1).await.unwrap();
    for _ in 0..50 {
        let refused = rig.chat(json!({})).await;
        assert_eq!(refused.error(), (409, "queue_full".into()));
        let seconds = refused.header("retry-after").unwrap().parse::<u64>().unwrap();
        assert!((1..=120).contains(&seconds), "{seconds}");
    }
    assert_eq!(running.answer().await.status, 200);
    assert_eq!(rig.worker.snapshot().queue_depth, 0, "the one that waited runs");
    assert_eq!(waiting.answer().await.status, 200);
    rig.state(StateWord::Ready).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_request_that_waits_too_long_is_a_timeout_and_never_runs() {
    let mut settings = settings();
    settings.profiles.default_profile_mut().worker.queue_max_wait_ms = 200;
    let rig = Rig::with(settings, json!([{"piece_delay_ms": 500}])).await;
    let running = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Busy).await;
    let waited = rig.chat(json!({})).await;
    assert_eq!(waited.error(), (504, "timeout".into()), "{}", waited.body);
    assert_eq!(rig.worker.snapshot().queue_depth, 0);
    assert_eq!(running.answer().await.status, 200);
    rig.state(StateWord::Ready).await;
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_prompt_of_eight_megabytes_passes_the_pipe() {
    let mut settings = settings();
    settings.server.max_body_bytes = 16 * 1024 * 1024;
    settings.profiles.default_profile_mut().context_window_tokens = 100_000_000;
    let rig = Rig::with(settings, json!([{}])).await;
    let messages = json!([{"role": "user", "content": "x".repeat(8_000_000)}]);
    assert_eq!(rig.chat(json!({"messages": messages})).await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn without_a_queue_a_second_request_finds_the_worker_busy() {
    let mut settings = settings();
    settings.profiles.default_profile_mut().worker.queue_max_depth = 0;
    let rig = Rig::with(settings, json!([{"piece_delay_ms": 300}])).await;
    let running = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Busy).await;
    assert_eq!(rig.chat(json!({})).await.error(), (409, "worker_busy".into()));
    assert_eq!(running.answer().await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn a_worker_that_dies_before_the_end_is_a_crash_and_the_next_request_is_answered() {
    let rig = Rig::new(json!([{"ending": "crash"}, {}])).await;
    let answer = rig.chat(json!({})).await;
    assert_eq!(answer.error(), (503, "worker_crashed".into()));
    assert_eq!(rig.chat(json!({})).await.status, 200);
    rig.end().await;
}

#[tokio::test]
async fn an_engine_fault_is_told_without_its_insides() {
    let rig = Rig::new(json!([{"ending": "fault"}])).await;
    let answer = rig.chat(json!({})).await;
    assert_eq!(answer.error(), (503, "worker_crashed".into()));
    assert!(!answer.body.contains("ScriptedError"), "{}", answer.body);
    rig.end().await;
}

#[tokio::test]
async fn what_only_the_worker_can_refuse_names_the_clients_field_whole_and_streamed() {
    for (field, param) in [
        ("grammar", "response_format"),
        ("grammar.schema_json", "response_format"),
        ("grammar.tools", "tools"),
        ("stop", "stop"),
    ] {
        let fault = json!({"code": "sampling_invalid", "field": field, "what": "is too complex"});
        let rig = Rig::new(json!([{"ending": "fault", "fault": fault}])).await;
        let whole = rig.chat(json!({})).await;
        assert_eq!(whole.error(), (400, "bad_request".into()));
        assert_eq!(whole.json()["error"]["param"], param);
        assert_eq!(whole.json()["error"]["message"], format!("{param} is too complex."));
        let stream = rig.chat(json!({"stream": true})).await;
        let last = stream.body.trim_end().rsplit("data: ").next().unwrap();
        let error = &serde_json::from_str::<serde_json::Value>(last).unwrap()["error"];
        assert_eq!((&error["code"], &error["param"]), (&json!("bad_request"), &json!(param)));
        assert!(!stream.body.contains("[DONE]"), "{}", stream.body);
        rig.end().await;
    }
}

#[tokio::test]
async fn a_runtime_that_is_not_as_pinned_is_named_with_its_cure() {
    let rig = Rig::new(json!([{"verdict": {"verdict": "differs", "what": "mlx is 0.1, not 0.32.4"}}])).await;
    let answer = rig.chat(json!({})).await;
    assert_eq!(answer.error(), (503, "runtime_unverified".into()), "{}", answer.body);
    assert!(
        answer.body.contains("mlx is 0.1") && answer.body.contains("hangar runtime repair"),
        "{}",
        answer.body
    );
    assert_eq!(answer.json()["error"]["retryable"], false);
    rig.end().await;
}

#[tokio::test]
async fn a_client_that_goes_away_while_waiting_for_a_whole_answer_ends_it() {
    let rig = Rig::new(json!([{"ending": "wedge"}])).await;
    let call = rig.begin_chat(json!({})).await;
    rig.state(StateWord::Busy).await;
    drop(call);
    rig.state(StateWord::Ready).await;
    rig.end().await;
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let rig = Rig::new(json!([{}])).await;
    let mut bytes = String::from_utf8(request(rig.port, "POST", CHAT, "", &chat(json!({})))).unwrap();
    bytes = bytes.replace("connection: close\r\n", "");
    let last = String::from_utf8(request(rig.port, "GET", "/health", "", "")).unwrap();
    let mut call = rig.begin(format!("{bytes}{last}").as_bytes()).await;
    let text = call.until("\"service\"").await;
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{text}");
    rig.end().await;
}

#[tokio::test]
async fn control_tokens_thoughts_and_tool_markup_never_reach_the_text() {
    let pieces = json!([{"pieces": [
        {"type": "control", "token": "<|channel>"}, "thou", "ght\nsecret plan", {"type": "control", "token": "<channel|>"},
        "visible <|turn> text",
        {"type": "control", "token": "<|tool_call>"}, "call:rm{path:", {"type": "control", "token": "<|\"|>"}, "/",
        {"type": "control", "token": "<tool_call|>"}, {"type": "control", "token": "<turn|>"},
    ]}]);
    let rig = Rig::new(pieces).await;
    let whole = rig.chat(json!({})).await.json();
    let content = whole["choices"][0]["message"]["content"].as_str().unwrap();
    let notice = content.strip_prefix("visible <|turn> text\n\n").unwrap_or_else(|| panic!("{content}"));
    assert!(notice.starts_with("[The model called the tool rm, which is not among"), "{notice}");
    let stream = rig.chat(json!({"stream": true})).await;
    for hidden in ["secret", "thought", "call:rm", "<channel|>", "<turn|>"] {
        assert!(!stream.body.contains(hidden), "{hidden} in {}", stream.body);
    }
    assert!(stream.body.contains("visible <|turn> text"), "{}", stream.body);
    rig.end().await;
}

/// Tokens of a prompt with this content, as a refusal counts them.
async fn counted(rig: &Rig, content: &str) -> u64 {
    let body = json!({"messages": [{"role": "user", "content": content}], "max_tokens": 64});
    let answer = rig.post(CHAT, &body.to_string()).await;
    let error = answer.json()["error"].clone();
    assert_eq!((answer.status, &error["type"]), (400, &json!("context_length_exceeded")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "This model's maximum context length is 64 tokens. However, your messages resulted in "
        ),
        "{message}"
    );
    message.split(' ').nth(13).unwrap().parse().unwrap_or_else(|_| panic!("{message}"))
}

/// A request whose prompt leaves this much of the window.
async fn leaving(rig: &Rig, left: u64) -> String {
    for length in 1.. {
        let content = "~".repeat(length);
        let prompt = counted(rig, &content).await;
        assert!(prompt + left <= 64, "no prompt leaves {left}");
        if prompt + left == 64 {
            return content;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_refused_with_both_counts_without_loading_a_model() {
    let rig = Rig::new(json!([{}])).await;
    let content = leaving(&rig, 5).await;
    for stream in [false, true] {
        let ask = |max_tokens| json!({"messages": [{"role": "user", "content": content}], "max_tokens": max_tokens, "stream": stream});
        let refused = rig.post(CHAT, &ask(6).to_string()).await;
        assert_eq!(refused.error(), (400, "context_length_exceeded".into()));
        assert!(refused.body.contains("resulted in 59 tokens, and 6 were"), "{}", refused.body);
        assert_eq!(rig.worker.snapshot().counters.worker_starts, u64::from(stream));
        assert_eq!(rig.post(CHAT, &ask(5).to_string()).await.status, 200);
    }
    rig.end().await;
}

#[tokio::test]
async fn without_a_limit_the_answer_gets_what_fits_the_window() {
    let rig = Rig::new(json!([{}])).await;
    let content = leaving(&rig, 1).await;
    let ask = |content: &str| json!({"messages": [{"role": "user", "content": content}]}).to_string();
    let answer = rig.post(CHAT, &ask(&content)).await.json();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 1);
    let full = rig.post(CHAT, &ask(&format!("{content}~"))).await;
    assert_eq!(full.error(), (400, "context_length_exceeded".into()));
    assert!(full.body.contains("resulted in 64 tokens. Please"), "{}", full.body);
    rig.end().await;
}
