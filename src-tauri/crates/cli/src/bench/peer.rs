//! The peer: mlx-vlm's own server, tuned as well as it can be.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use hangar_provision::openblas;

use super::BenchError;
use super::http::{Client, get_ms};
use super::served::Served;

const WHO: &str = "mlx_vlm.server";
const LIMIT: Duration = Duration::from_secs(120);
/// The prefill step that serves it best on the machines measured; its default is several times slower.
const PREFILL_STEP: &str = "256";

/// A running peer and a client of it.
pub(crate) struct Peer {
    pub(crate) client: Client,
    _process: Served,
}

impl Peer {
    /// Starts `python -m mlx_vlm.server` on a free port with the model.
    pub(crate) fn start(python: &Path, model: &Path, logs: &Path) -> Result<Self, BenchError> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = port.map_err(|source| BenchError::File { path: "127.0.0.1".into(), source })?.port();
        let mut command = Command::new(python);
        command.args(["-m", "mlx_vlm.server", "--host", "127.0.0.1", "--port", &port.to_string(), "--model"]);
        command.arg(model).args(["--max-tokens", "4096", "--prefill-step-size", PREFILL_STEP]);
        command.env("HF_HUB_OFFLINE", "1");
        if let Some(library) = openblas() {
            command.env("LD_PRELOAD", library);
        }
        let url = format!("http://127.0.0.1:{port}");
        let mut process = Served::start(WHO, &mut command, logs.join("peer.log"))?;
        process.wait_until(LIMIT, Duration::from_millis(50), || get_ms(&format!("{url}/health")).is_ok())?;
        let client = Client::new(WHO, &url, &model.display().to_string());
        Ok(Self { client, _process: process })
    }
}
