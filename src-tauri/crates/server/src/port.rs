//! Which port to listen on: a pinned one or none, else the remembered one or the next that is free.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use hangar_config::{Home, ListenHost};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::durable;
use crate::holder::{self, Holder};

/// The port clients try first.
pub const FIRST_PORT: u16 = 4017;
/// How far above it a free one is looked for.
const SEARCH_PORTS: u16 = 100;
/// A listener on this machine answers a connection at once.
const CONNECT_LIMIT: Duration = Duration::from_millis(100);

/// Listeners on one port of this machine.
#[derive(Debug)]
pub struct Listeners {
    /// The port.
    pub port: u16,
    /// 127.0.0.1, and `[::1]` where it could be had.
    pub sockets: Vec<TcpListener>,
    /// What a person should know about the choice.
    pub notes: Vec<String>,
}

/// Why there is nothing to listen on.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The pinned port is taken.
    #[error("port_in_use: port {port} is taken by {holder}")]
    InUse {
        /// The port.
        port: u16,
        /// Who has it.
        holder: Holder,
    },
    /// None of the ports that were tried is free.
    #[error("port_in_use: no port from {FIRST_PORT} to {last} is free")]
    NoneFree {
        /// The last one tried.
        last: u16,
    },
    /// The system refuses the port for another reason, such as a privileged number.
    #[error("port {port} of {address} cannot be listened on: {source}")]
    Refused {
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The choice cannot be remembered.
    #[error("{} cannot be written: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl PortError {
    /// What a person can do.
    pub fn cure(&self) -> String {
        match self {
            Self::InUse { holder, .. } => {
                format!(
                    "{}, or set HANGAR_PORT (or server.port in local.json) to another port",
                    holder.cure()
                )
            }
            Self::NoneFree { .. } => "set HANGAR_PORT to a free port".to_owned(),
            Self::Refused { address, .. } if !address.is_loopback() => {
                format!("set server.host to an address of this machine: {address} is none, or is not free")
            }
            Self::Refused { .. } => "set HANGAR_PORT to a port over 1023".to_owned(),
            Self::Unwritable { .. } => "set HANGAR_HOME to a folder that can be written".to_owned(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct PortMemory {
    port: u16,
}

/// Opens the listeners. An unpinned choice is remembered, so that clients find it again.
///
/// # Errors
/// [`PortError`] names who has a pinned port.
pub async fn open(home: &Home, host: ListenHost, pinned: Option<u16>) -> Result<Listeners, PortError> {
    if let Some(port) = pinned {
        return match bind(host, port, Strictness::V4Only).await? {
            Some(listeners) => Ok(listeners),
            None => Err(PortError::InUse { port, holder: holder::find(port).await }),
        };
    }
    let remembered = remembered(home);
    for port in candidates(remembered) {
        if let Some(mut listeners) = bind(host, port, Strictness::Both).await? {
            let wanted = remembered.unwrap_or(FIRST_PORT);
            if port != wanted {
                listeners.notes.push(format!("Port {wanted} is taken; Hangar uses {port} from now on."));
            }
            if remembered != Some(port) {
                let path = home.port_memory();
                durable::write_json(&path, &PortMemory { port })
                    .map_err(|source| PortError::Unwritable { path, source })?;
            }
            return Ok(listeners);
        }
    }
    Err(PortError::NoneFree { last: FIRST_PORT + SEARCH_PORTS })
}

/// The order in which ports are tried.
fn candidates(remembered: Option<u16>) -> impl Iterator<Item = u16> {
    let others = (FIRST_PORT..=FIRST_PORT + SEARCH_PORTS).filter(move |port| Some(*port) != remembered);
    remembered.into_iter().chain(others)
}

fn remembered(home: &Home) -> Option<u16> {
    let bytes = fs::read(home.port_memory()).ok()?;
    // A file that cannot be read is as good as none: it is written anew.
    serde_json::from_slice::<PortMemory>(&bytes).ok().map(|memory| memory.port).filter(|port| *port != 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// Somebody else's `[::1]` is lived with.
    V4Only,
    /// Both addresses must be free where the machine has both: `localhost` may mean either.
    Both,
}

/// Listens on one port; none when it is taken.
async fn bind(host: ListenHost, port: u16, strictness: Strictness) -> Result<Option<Listeners>, PortError> {
    // Where a program listens on all addresses, some systems still let one of them be taken: ask first.
    if answers(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
        return Ok(None);
    }
    let mut listeners = Listeners { port, sockets: Vec::new(), notes: Vec::new() };
    for address in needed(host) {
        match TcpListener::bind((address, port)).await {
            Ok(socket) => listeners.sockets.push(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(None),
            Err(source) => return Err(PortError::Refused { address, port, source }),
        }
    }
    let taken = if answers(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await {
        // Our own, where all addresses are listened on.
        host != ListenHost::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    } else {
        match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
            Ok(second) => {
                listeners.sockets.push(second);
                false
            }
            Err(error) => error.kind() == io::ErrorKind::AddrInUse,
        }
    };
    if taken && strictness == Strictness::Both {
        return Ok(None);
    }
    if taken {
        listeners
            .notes
            .push(format!("Another program has [::1]:{port}; use 127.0.0.1 rather than localhost."));
    }
    Ok(Some(listeners))
}

/// The addresses without which there is nothing to serve on; this machine's own one is always covered.
fn needed(host: ListenHost) -> Vec<IpAddr> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    match host {
        ListenHost::Loopback => vec![local],
        ListenHost::Address(all) if all.is_unspecified() => vec![all],
        ListenHost::Address(address) => vec![local, address],
    }
}

async fn answers(address: SocketAddr) -> bool {
    let connect = move || TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_ok();
    tokio::task::spawn_blocking(connect).await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &tempfile::TempDir) -> Home {
        let root = folder.path().display().to_string();
        Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap()
    }

    fn taken_port() -> (std::net::TcpListener, u16) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    #[test]
    fn the_remembered_port_is_tried_first_and_none_twice() {
        assert_eq!(candidates(None).next(), Some(FIRST_PORT));
        let order: Vec<u16> = candidates(Some(4020)).collect();
        assert_eq!(&order[..2], [4020, 4017]);
        assert_eq!(order.iter().filter(|port| **port == 4020).count(), 1);
        assert_eq!(candidates(Some(9000)).count(), 102);
    }

    #[tokio::test]
    async fn a_pinned_port_that_is_taken_names_its_holder_and_moves_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (_listener, port) = taken_port();
        let error = open(&home(&folder), ListenHost::Loopback, Some(port)).await.unwrap_err();
        let message = error.to_string();
        assert!(message.contains("port_in_use") && message.contains(&port.to_string()), "{message}");
        if cfg!(target_os = "linux") {
            assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
        }
        assert!(error.cure().contains("HANGAR_PORT"));
        assert!(!home(&folder).port_memory().exists());
    }

    #[tokio::test]
    async fn a_remembered_port_that_is_taken_moves_on_says_so_and_is_remembered_anew() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        let (_listener, port) = taken_port();
        durable::write_json(&home.port_memory(), &PortMemory { port }).unwrap();
        let listeners = open(&home, ListenHost::Loopback, None).await.unwrap();
        assert_ne!(listeners.port, port);
        assert!(listeners.notes[0].contains(&port.to_string()));
        let again = remembered(&home);
        assert_eq!(again, Some(listeners.port));
    }

    #[tokio::test]
    async fn a_free_port_is_listened_on_by_both_names_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        let port = taken_port().1;
        let listeners = open(&home(&folder), ListenHost::Loopback, Some(port)).await.unwrap();
        assert!(answers(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await);
        let has_v6 = std::net::TcpListener::bind("[::1]:0").is_ok();
        assert_eq!(listeners.sockets.len(), if has_v6 { 2 } else { 1 });
    }

    #[tokio::test]
    async fn an_address_of_ones_own_is_listened_on_besides_loopback_and_a_foreign_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let port = taken_port().1;
        let all = ListenHost::Address("0.0.0.0".parse().unwrap());
        let listeners = open(&home(&folder), all, Some(port)).await.unwrap();
        assert!(listeners.sockets[0].local_addr().unwrap().ip().is_unspecified());
        assert!(answers(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await);
        drop(listeners);
        // Kept for documentation: no machine has it.
        let foreign = ListenHost::Address("192.0.2.1".parse().unwrap());
        let error = open(&home(&folder), foreign, Some(port)).await.unwrap_err();
        assert!(error.to_string().contains("192.0.2.1"), "{error}");
        assert!(error.cure().contains("server.host"), "{}", error.cure());
    }

    #[test]
    fn a_torn_memory_is_as_good_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        for text in ["", "{\"port\":40", "{\"port\":0}", "{\"port\":70000}"] {
            fs::write(home.port_memory(), text).unwrap();
            assert_eq!(remembered(&home), None, "{text}");
        }
    }
}
