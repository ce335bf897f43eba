//! Who has a port: another Hangar, the earlier service, or some program.

use std::fmt;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::Deserialize;

use crate::views::SERVICE;

const ASK_LIMIT: Duration = Duration::from_millis(500);
/// Largest answer that is read from a stranger.
const ANSWER_BYTES: u64 = 64 * 1024;

/// Who has a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Another Hangar.
    Hangar {
        /// Its version.
        version: String,
        /// Its process, if that is known.
        process: Option<Process>,
    },
    /// A service that answers `/health` as the earlier one does.
    EarlierService {
        /// What it calls itself.
        name: String,
    },
    /// Some program.
    Program(Process),
    /// Nothing could be found out.
    Unknown,
}

/// A process that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its command.
    pub command: String,
}

impl Holder {
    /// What a person can do.
    pub fn cure(&self) -> String {
        match self {
            Self::Hangar { .. } => {
                "stop it with `hangar stop` (HANGAR_HOME says which one is meant)".to_owned()
            }
            Self::EarlierService { .. } => "stop it with its own scripts/stop".to_owned(),
            Self::Program(process) => format!("end process {}", process.pid),
            Self::Unknown => "end the program that has it".to_owned(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hangar { version, process: Some(process) } => {
                write!(formatter, "another Hangar (version {version}, process {})", process.pid)
            }
            Self::Hangar { version, process: None } => {
                write!(formatter, "another Hangar (version {version})")
            }
            Self::EarlierService { name } => write!(formatter, "the earlier service ({name})"),
            Self::Program(process) => {
                write!(formatter, "another program ({}, process {})", process.command, process.pid)
            }
            Self::Unknown => formatter.write_str("another program"),
        }
    }
}

/// Finds out who has a port, in about half a second at most.
pub(crate) async fn find(port: u16) -> Holder {
    let look = move || {
        let process = listening_process(port);
        match ask_health(port) {
            Some(health) if health.service == SERVICE => {
                Holder::Hangar { version: health.version.unwrap_or_else(|| "unknown".to_owned()), process }
            }
            Some(health) if is_earlier_service(&health.service) => {
                Holder::EarlierService { name: health.service }
            }
            Some(_) | None => process.map_or(Holder::Unknown, Holder::Program),
        }
    };
    tokio::task::spawn_blocking(look).await.unwrap_or(Holder::Unknown)
}

/// The earlier service names itself after what it runs; other programs answer `/health` in this shape too.
fn is_earlier_service(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("gemma") || name.contains("mlx")
}

#[derive(Deserialize)]
struct ForeignHealth {
    #[serde(rename = "ok")]
    _ok: bool,
    service: String,
    version: Option<String>,
}

fn ask_health(port: u16) -> Option<ForeignHealth> {
    let agent = ureq::Agent::new_with_config(
        ureq::Agent::config_builder()
            .timeout_global(Some(ASK_LIMIT))
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .build(),
    );
    let mut answer = agent.get(format!("http://127.0.0.1:{port}/health")).call().ok()?;
    let text = answer.body_mut().with_config().limit(ANSWER_BYTES).read_to_vec().ok()?;
    let health: ForeignHealth = serde_json::from_slice(&text).ok()?;
    let clean = |text: String| text.chars().filter(|letter| !letter.is_control()).take(60).collect();
    Some(ForeignHealth { service: clean(health.service), version: health.version.map(clean), ..health })
}

fn listening_process(port: u16) -> Option<Process> {
    if cfg!(target_os = "macos") {
        let answer = Command::new("/usr/sbin/lsof")
            .args(["-nP", &format!("-iTCP:{port}"), "-sTCP:LISTEN", "-Fpc"])
            .stderr(Stdio::null())
            .output()
            .ok()?;
        return read_lsof(&String::from_utf8_lossy(&answer.stdout));
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let sockets = tables.iter().filter_map(|table| read_socket(&fs::read_to_string(table).ok()?, port));
    sockets.into_iter().find_map(owner)
}

/// The inode of the socket that listens on a port, from a table as Linux prints it.
fn read_socket(table: &str, port: u16) -> Option<u64> {
    const LISTENING: &str = "0A";
    table.lines().skip(1).find_map(|row| {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local_port, 16) == Ok(port) && *fields.get(3)? == LISTENING;
        is_it.then(|| fields.get(9)?.parse().ok())?
    })
}

/// The process that has a socket open; only processes one may look into are found.
fn owner(socket: u64) -> Option<Process> {
    let wanted = format!("socket:[{socket}]");
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let mut opened = fs::read_dir(entry.path().join("fd")).ok()?.flatten();
        opened
            .find(|file| fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()))?;
        let command = fs::read_to_string(entry.path().join("comm")).ok()?;
        Some(Process { pid, command: command.trim().to_owned() })
    })
}

/// The first process in the field form of lsof: a `p` line and then a `c` line.
fn read_lsof(text: &str) -> Option<Process> {
    let field = |mark| text.lines().find_map(|line| line.strip_prefix(mark));
    Some(Process { pid: field('p')?.parse().ok()?, command: field('c')?.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// A program that answers every connection with these bytes.
    fn answering(reply: String) -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut stream = stream;
                let mut asked = [0; 1024];
                drop(stream.read(&mut asked));
                drop(stream.write_all(reply.as_bytes()));
            }
        });
        port
    }

    fn ok(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    #[tokio::test]
    async fn another_hangar_is_recognised_with_version_and_process() {
        let found = find(answering(ok(r#"{"ok":true,"service":"hangar","version":"9.8.7"}"#))).await;
        let Holder::Hangar { version, process } = found else { panic!("{found:?}") };
        assert_eq!(version, "9.8.7");
        if cfg!(target_os = "linux") {
            assert_eq!(process.unwrap().pid, std::process::id());
        }
    }

    #[tokio::test]
    async fn the_earlier_service_is_recognised_by_its_health() {
        let found = find(answering(ok(r#"{"ok": true, "service": "mlx-turbo-gemma-service"}"#))).await;
        assert_eq!(found, Holder::EarlierService { name: "mlx-turbo-gemma-service".into() });
    }

    #[tokio::test]
    async fn a_program_that_answers_something_else_is_named_by_its_process() {
        for reply in [ok("hello"), ok(r#"{"status":"up"}"#), "SSH-2.0-x\r\n".into(), String::new()] {
            let found = find(answering(reply)).await;
            assert!(matches!(found, Holder::Program(_) | Holder::Unknown), "{found:?}");
            if cfg!(target_os = "linux") {
                assert!(found.to_string().contains(&std::process::id().to_string()), "{found}");
            }
        }
    }

    #[tokio::test]
    async fn a_silent_program_is_waited_for_half_a_second() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let begun = tokio::time::Instant::now();
        let found = find(listener.local_addr().unwrap().port()).await;
        assert!(matches!(found, Holder::Program(_) | Holder::Unknown));
        assert!(begun.elapsed() < Duration::from_secs(3));
    }

    #[test]
    fn a_listening_socket_is_found_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0FB1 0100007F:A000 01 00000000:00000000 00:00000000 00000000  1000 0 11 1 0\n\
            1: 0100007F:0FB1 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 22 1 0\n";
        assert_eq!(read_socket(table, 4017), Some(22));
        assert_eq!(read_socket(table, 4018), None);
    }

    #[test]
    fn lsof_fields_give_process_and_command() {
        assert_eq!(read_lsof("p812\ncnode\nf23\n"), Some(Process { pid: 812, command: "node".into() }));
        assert_eq!(read_lsof(""), None);
    }
}
