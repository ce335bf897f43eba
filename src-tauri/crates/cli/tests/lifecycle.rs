//! The command as a person runs it: processes, locks, ports and signals, but no model.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

struct Place {
    home: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { home: tempfile::tempdir().unwrap(), port }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hangar"));
        for name in ["HANGAR_PORT", "HANGAR_LOG", "HANGAR_RUNTIME"] {
            command.env_remove(name);
        }
        command.env("HANGAR_HOME", self.home.path()).env("HANGAR_RESOURCES", clone).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn start(&self) -> Output {
        self.run(&["start", "--port", &self.port.to_string()])
    }

    /// Serves in a child of this test, and waits for its first line.
    fn serve(&self) -> Served {
        let mut child = self
            .command(&["serve", "--port", &self.port.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("Hangar is listening on http://127.0.0.1:{}\n", self.port));
        Served(child)
    }

    fn hint(&self) -> Value {
        serde_json::from_slice(&fs::read(self.home.path().join("instance.json")).unwrap()).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.command(&["stop"]).output());
    }
}

struct Served(Child);

impl Served {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().try_into().unwrap()), signal).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn text(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn start_prints_the_address_and_stop_leaves_nothing_behind() {
    let place = Place::new();
    let (code, out, err) = text(&place.start());
    assert_eq!(
        (code, out),
        (0, format!("Hangar is listening on http://127.0.0.1:{}\n", place.port)),
        "{err}"
    );
    let pid = place.hint()["pid"].as_u64().unwrap();
    let (code, out, _) = text(&place.start());
    assert_eq!(code, 0);
    assert!(out.contains("already running") && out.contains(&pid.to_string()), "{out}");
    let state: Value = serde_json::from_slice(&place.run(&["state", "--json"]).stdout).unwrap();
    assert_eq!(state["pid"], pid);
    assert_eq!(state["ready"]["worker"]["state"], "unloaded");
    let (code, out, _) = text(&place.run(&["state"]));
    assert_eq!(code, 0);
    assert!(out.contains("unloaded") && out.contains("gemma-4-pocket"), "{out}");
    assert_eq!(text(&place.run(&["stop"])), (0, "Hangar has stopped\n".into(), String::new()));
    assert!(!place.home.path().join("instance.json").exists());
    assert!(TcpListener::bind(("127.0.0.1", place.port)).is_ok());
}

#[test]
fn restart_serves_again_as_another_process() {
    let place = Place::new();
    place.start();
    let before = place.hint()["pid"].clone();
    let (code, out, err) = text(&place.run(&["restart", "--port", &place.port.to_string()]));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("has stopped") && out.contains("is listening"), "{out}");
    assert_ne!(place.hint()["pid"], before);
}

#[test]
fn stopping_what_does_not_run_is_no_failure() {
    let place = Place::new();
    assert_eq!(text(&place.run(&["stop"])), (0, "Hangar is not running\n".into(), String::new()));
    assert_eq!(text(&place.run(&["state", "--json"])).1, "{\"running\":false}\n");
}

#[test]
fn a_hint_without_a_lock_never_gets_its_process_told_to_end() {
    let place = Place::new();
    let mut bystander = Command::new("sleep").arg("60").spawn().unwrap();
    let hint = json!({
        "pid": bystander.id(), "started_at": 1, "port": 1, "url": "http://127.0.0.1:1", "version": "0.1.0",
    });
    fs::write(place.home.path().join("instance.json"), hint.to_string()).unwrap();
    fs::write(place.home.path().join("instance.lock"), "").unwrap();
    assert_eq!(text(&place.run(&["stop"])).1, "Hangar is not running\n");
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn a_second_server_on_one_folder_is_told_who_has_it() {
    let place = Place::new();
    let served = place.serve();
    let (code, _, err) = text(&place.run(&["serve"]));
    assert_eq!(code, 1);
    assert!(err.starts_with("hangar: ") && err.contains(&served.0.id().to_string()), "{err}");
    assert!(err.contains("hangar stop"), "{err}");
}

#[test]
fn a_pinned_port_that_is_taken_names_the_other_server() {
    let first = Place::new();
    let served = first.serve();
    let second = Place::new();
    let port = first.port.to_string();
    for output in [second.run(&["serve", "--port", &port]), second.run(&["start", "--port", &port])] {
        let (code, _, err) = text(&output);
        assert_eq!(code, 1);
        assert!(err.contains("port_in_use") && err.contains("another Hangar (version"), "{err}");
        assert!(cfg!(not(target_os = "linux")) || err.contains(&served.0.id().to_string()), "{err}");
    }
    let from_environment = second.command(&["serve"]).env("HANGAR_PORT", &port).output().unwrap();
    assert!(text(&from_environment).2.contains("port_in_use"));
}

#[test]
fn signals_end_the_server_in_order() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let place = Place::new();
        let mut served = place.serve();
        served.signal(signal);
        assert_eq!(served.0.wait().unwrap().code(), Some(0), "{signal}");
        assert!(!place.home.path().join("instance.json").exists());
    }
}

#[test]
fn after_a_kill_the_folder_is_served_again() {
    let place = Place::new();
    let mut served = place.serve();
    served.signal(Signal::SIGKILL);
    served.0.wait().unwrap();
    assert!(place.home.path().join("instance.json").exists());
    assert_eq!(text(&place.run(&["state"])).1, "Hangar is not running\n");
    let (code, _, err) = text(&place.start());
    assert_eq!(code, 0, "{err}");
}

#[test]
fn the_server_outlives_the_session_it_was_started_from() {
    let place = Place::new();
    place.start();
    let pid = i32::try_from(place.hint()["pid"].as_u64().unwrap()).unwrap();
    let session = nix::unistd::getsid(Some(Pid::from_raw(pid))).unwrap();
    assert_eq!(session.as_raw(), pid);
}

#[test]
fn what_is_wrong_with_the_configuration_is_said_with_file_and_path() {
    let place = Place::new();
    let file = place.home.path().join("local.json");
    for (content, path) in [
        (r#"{"server":{"port":40"#, "local.json"),
        (r#"{"worker":{"queue":{"maxDepth":"four"}}}"#, "worker.queue.maxDepth"),
    ] {
        fs::write(&file, content).unwrap();
        for command in ["serve", "start"] {
            let (code, _, err) = text(&place.run(&[command]));
            assert_eq!(code, 1);
            assert!(err.contains("local.json") && err.contains(path) && err.contains("\n  "), "{err}");
        }
    }
    fs::write(&file, r#"{"logging":{"level":"a=b=c"}}"#).unwrap();
    assert!(text(&place.run(&["serve"])).2.contains("logging.level"));
}

#[test]
fn a_folder_that_cannot_be_written_and_data_that_is_not_there_name_their_cure() {
    let place = Place::new();
    let file = place.home.path().join("file");
    fs::write(&file, "").unwrap();
    let unwritable = place.command(&["serve"]).env("HANGAR_HOME", file.join("home")).output().unwrap();
    let (code, _, err) = text(&unwritable);
    assert_eq!(code, 1);
    assert!(err.contains("HANGAR_HOME"), "{err}");
    let nowhere = place.command(&["serve"]).env("HANGAR_RESOURCES", &file).output().unwrap();
    let (code, _, err) = text(&nowhere);
    assert_eq!(code, 1);
    assert!(err.contains("HANGAR_RESOURCES"), "{err}");
}

#[test]
fn a_wrong_word_is_a_usage_error() {
    let place = Place::new();
    for arguments in [&["fly"][..], &[], &["serve", "--port", "0"], &["check"]] {
        assert_eq!(text(&place.run(arguments)).0, 2, "{arguments:?}");
    }
    let (code, out, _) = text(&place.run(&["--version"]));
    assert_eq!((code, out), (0, format!("hangar {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_missing_runtime_is_a_typed_error_of_the_request_and_not_of_the_server() {
    let place = Place::new();
    let mut served = place.command(&["serve", "--port", &place.port.to_string()]);
    served.env("HANGAR_RUNTIME", place.home.path().join("none")).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Served(served.spawn().unwrap());
    BufReader::new(served.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let config = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build();
    let mut answer = ureq::Agent::new_with_config(config)
        .post(format!("http://127.0.0.1:{}/v1/chat/completions", place.port))
        .send(r#"{"messages":[{"role":"user","content":"hi"}]}"#)
        .unwrap();
    assert_eq!(answer.status(), 503);
    let body: Value = answer.body_mut().read_json().unwrap();
    assert_eq!(body["error"]["type"], "runtime_unverified", "{body}");
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("Run `"), "{message}");
}
