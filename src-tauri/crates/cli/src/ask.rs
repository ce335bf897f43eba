//! Questions to a running server.

use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;

const LIMIT: Duration = Duration::from_secs(3);

/// Gets a path of the server and reads its JSON, whatever the status.
pub(crate) fn get(url: &str, path: &str) -> Result<Value, Failure> {
    let url = format!("{url}{path}");
    let failed = |what: String| Failure::NoAnswer { url: url.clone(), what };
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .proxy(None)
        .http_status_as_error(false)
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let mut answer = agent.get(&url).call().map_err(|error| failed(error.to_string()))?;
    answer.body_mut().read_json().map_err(|error| failed(error.to_string()))
}

/// Whether the server answers `/health` with our name.
pub(crate) fn is_healthy(url: &str) -> bool {
    get(url, "/health")
        .is_ok_and(|health| health["ok"] == true && health["service"] == hangar_server::SERVICE)
}
