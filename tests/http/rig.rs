//! A server on a free port with a scripted worker.

use std::sync::Arc;
use std::time::Duration;

use hangar_config::{Home, Settings, WorkerSettings};
use hangar_server::{Server, Wish};
use hangar_supervisor::{StateWord, WorkerHandle};
use hangar_tests::{ScriptedLaunch, ScriptedWorkshop};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::client::{Answer, Call, PATIENCE, request};

pub const CHAT: &str = "/v1/chat/completions";

pub struct Rig {
    pub port: u16,
    /// The default profile's.
    pub worker: WorkerHandle,
    pub wish: watch::Sender<Wish>,
    pub serving: JoinHandle<()>,
    pub folder: tempfile::TempDir,
}

pub fn settings() -> Settings {
    let folder = "/nowhere".to_owned();
    let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| folder.clone())).unwrap();
    let mut settings = hangar_config::built_in(&home).unwrap();
    settings.server.max_body_bytes = 64 * 1024;
    let profile = settings.profiles.default_profile_mut();
    profile.context_window_tokens = 64;
    profile.max_output_tokens = 32;
    profile.worker = WorkerSettings {
        startup_timeout_ms: 5_000,
        request_timeout_ms: 10_000,
        queue_max_wait_ms: 10_000,
        queue_max_depth: 1,
        idle_unload_ms: None,
        cooldown_ms: 60_000,
        ..profile.worker.clone()
    };
    settings
}

impl Rig {
    /// A server whose workers live these lives.
    pub async fn new(lives: Value) -> Self {
        Self::with(settings(), lives).await
    }

    pub async fn with(settings: Settings, lives: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launch = ScriptedLaunch::new(env!("CARGO_BIN_EXE_fake-worker"), folder.path(), &lives).unwrap();
        let workshop = Arc::new(ScriptedWorkshop::new(launch, settings.profiles.default_profile()));
        let worker = workshop.default_worker();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let page = folder.path().join("page");
        std::fs::create_dir(&page).unwrap();
        std::fs::write(page.join("index.html"), "<!doctype html><title>Hangar</title>").unwrap();
        let server = Server::builder(settings, workshop)
            .port(port)
            .page_dir(page)
            .still_here_after(Duration::from_millis(300))
            .build();
        let (wish, wishes) = watch::channel(Wish::Run);
        let serving = tokio::spawn(server.serve(vec![listener], wishes));
        Self { port, worker, wish, serving, folder }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "").await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, "", body).await
    }

    pub async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.raw(&request(self.port, method, path, headers, body)).await
    }

    pub async fn raw(&self, bytes: &[u8]) -> Answer {
        self.begin(bytes).await.answer().await
    }

    pub async fn begin(&self, bytes: &[u8]) -> Call {
        Call::send(self.port, bytes).await
    }

    /// Begins a chat with further fields and gives the open connection.
    pub async fn begin_chat(&self, fields: Value) -> Call {
        self.begin(&request(self.port, "POST", CHAT, "", &chat(fields))).await
    }

    pub async fn chat(&self, fields: Value) -> Answer {
        self.begin_chat(fields).await.answer().await
    }

    /// Waits for a state of the worker.
    pub async fn state(&self, wanted: StateWord) {
        let mut snapshots = self.worker.subscribe();
        let reached = snapshots.wait_for(|snapshot| snapshot.state == wanted);
        tokio::time::timeout(PATIENCE, reached)
            .await
            .unwrap_or_else(|_| panic!("never {wanted:?}: {:?}", self.worker.snapshot()))
            .unwrap();
    }

    /// Asks for an orderly end and waits for it.
    pub async fn end(self) {
        self.wish.send_replace(Wish::AtOnce);
        tokio::time::timeout(PATIENCE, self.serving).await.expect("the server does not end").unwrap();
    }
}

/// A chat request with one message and further fields.
pub fn chat(fields: Value) -> String {
    let mut body = json!({"messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body.to_string()
}

/// Whether a process is there and not only waiting to be reaped.
pub fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'))
}
