//! Questions to a running server.

use std::time::Duration;

use hangar_config::ApiKey;
use serde_json::Value;

use crate::failure::Failure;

const LIMIT: Duration = Duration::from_secs(3);

/// Gets a path of the server and reads its JSON, whatever the status; shows the configured key, if there is one.
pub(crate) fn get(url: &str, path: &str, key: Option<&ApiKey>) -> Result<Value, Failure> {
    let url = format!("{url}{path}");
    let failed = |what: String| Failure::NoAnswer { url: url.clone(), what };
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(LIMIT))
        .proxy(None)
        .http_status_as_error(false)
        .build();
    let agent = ureq::Agent::new_with_config(config);
    let mut question = agent.get(&url);
    if let Some(key) = key {
        question = question.header("authorization", format!("Bearer {}", key.expose()));
    }
    let mut answer = question.call().map_err(|error| failed(error.to_string()))?;
    answer.body_mut().read_json().map_err(|error| failed(error.to_string()))
}

/// Whether the server answers `/health` with our name.
pub(crate) fn is_healthy(url: &str) -> bool {
    get(url, "/health", None)
        .is_ok_and(|health| health["ok"] == true && health["service"] == hangar_server::SERVICE)
}
