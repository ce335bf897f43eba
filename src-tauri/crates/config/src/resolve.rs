//! From raw layers to settings without defaults left open.

use std::path::PathBuf;

use crate::raw::{Combine, Layer};
use crate::{ConfigError, Home};

/// Everything the service was told, resolved once.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The listener.
    pub server: ServerSettings,
    /// The model that is served.
    pub profile: Profile,
    /// The worker that runs it.
    pub worker: WorkerSettings,
    /// Filter of the log, in tracing's syntax.
    pub log_level: String,
}

/// The listener.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    /// A pinned port must be free; without one the next free port from 4017 is taken and remembered.
    pub pinned_port: Option<u16>,
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
}

/// The model that is served.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Name clients send as `model`.
    pub model_id: String,
    /// Where its files are.
    pub source: ModelSource,
    /// Largest prompt plus answer, in tokens.
    pub context_window_tokens: u32,
    /// Most tokens of an answer when the client names no limit.
    pub max_output_tokens: u32,
    /// Temperature when the client names none.
    pub temperature: f32,
    /// Nucleus mass when the client names none.
    pub top_p: f32,
}

/// Where a model's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// The self-test model that comes with the program.
    BuiltInPocket,
    /// A folder of the user's.
    Folder(PathBuf),
}

/// The worker and its limits; durations in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// From spawn to a loaded model.
    pub startup_timeout_ms: u64,
    /// From dispatch to the end of an answer.
    pub request_timeout_ms: u64,
    /// Longest wait in the queue.
    pub queue_max_wait_ms: u64,
    /// Requests that may wait behind the active one.
    pub queue_max_depth: u32,
    /// Idle time after which the worker is unloaded; none keeps it.
    pub idle_unload_ms: Option<u64>,
    /// Failures in a row from which each start waits for `cooldown_ms`.
    pub max_consecutive_errors: u32,
    /// The cool-down.
    pub cooldown_ms: u64,
    /// A user's own interpreter instead of the managed runtime; verified, never modified.
    pub python_executable: Option<PathBuf>,
}

/// Settings with what was noticed while reading them.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Settings,
    /// JSON paths of keys in `local.json` that nobody reads.
    pub unknown_keys: Vec<String>,
}

/// The environment's layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `HANGAR_PORT`.
    pub port: Option<String>,
    /// `HANGAR_LOG`.
    pub log: Option<String>,
}

/// Reads all layers and resolves them.
///
/// # Errors
/// [`ConfigError`] names file, JSON path and what was expected.
pub fn load(home: &Home, environment: &Environment) -> Result<LoadedSettings, ConfigError> {
    let defaults = parse("config/default.json", include_str!("../../../../config/default.json"))?.0;
    let pocket = parse("config/pocket.json", include_str!("../../../../config/pocket.json"))?.0;
    let file = home.local_config();
    let name = file.display().to_string();
    let (local, unknown_keys) = match std::fs::read_to_string(&file) {
        Ok(text) => parse(&name, &text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Layer::default(), Vec::new()),
        Err(source) => return Err(ConfigError::Unreadable { file: name, source }),
    };
    let own_model = local.model.path.is_some();
    let shipped = if own_model { defaults } else { pocket.combine(defaults) };
    let settings = resolve(&name, local.combine(shipped), environment)?;
    Ok(LoadedSettings { settings, unknown_keys })
}

fn parse(file: &str, text: &str) -> Result<(Layer, Vec<String>), ConfigError> {
    let invalid = |json_path: String, error: &serde_json::Error| ConfigError::Invalid {
        file: file.to_owned(),
        json_path,
        expected: error.to_string(),
    };
    let mut unknown_keys = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let layer = serde_ignored::deserialize(tracked, |path| unknown_keys.push(path.to_string()));
    let layer: Layer = layer.map_err(|error| invalid(track.path().to_string(), &error))?;
    deserializer.end().map_err(|error| invalid(".".to_owned(), &error))?;
    Ok((layer, unknown_keys))
}

fn resolve(file: &str, layer: Layer, environment: &Environment) -> Result<Settings, ConfigError> {
    let invalid = |json_path: &str, expected: &str| ConfigError::Invalid {
        file: file.to_owned(),
        json_path: json_path.to_owned(),
        expected: expected.to_owned(),
    };
    if let Some(host) = &layer.server.host
        && !matches!(host.as_str(), "127.0.0.1" | "localhost" | "::1")
    {
        return Err(invalid("server.host", "expected a loopback address: Hangar listens on this Mac only"));
    }
    let pinned_port = match &environment.port {
        Some(found) if !found.is_empty() => {
            Some(found.parse().ok().filter(|port| *port != 0).ok_or_else(|| ConfigError::Environment {
                variable: "HANGAR_PORT",
                found: found.clone(),
                expected: "a port number from 1 to 65535",
            })?)
        }
        _ => layer.server.port,
    };
    if pinned_port == Some(0) {
        return Err(invalid("server.port", "expected a port number from 1 to 65535"));
    }
    let required = |name: &str| invalid(name, "expected a value");
    let temperature =
        layer.model.sampling.temperature.ok_or_else(|| required("model.sampling.temperature"))?;
    if !(0.0..=2.0).contains(&temperature) {
        return Err(invalid("model.sampling.temperature", "expected a number from 0 to 2"));
    }
    let top_p = layer.model.sampling.top_p.ok_or_else(|| required("model.sampling.topP"))?;
    if !(top_p > 0.0 && top_p <= 1.0) {
        return Err(invalid("model.sampling.topP", "expected a number over 0, at most 1"));
    }
    let context_window_tokens =
        layer.model.context_window_tokens.ok_or_else(|| required("model.contextWindowTokens"))?;
    let max_output_tokens = layer.model.max_output_tokens.ok_or_else(|| required("model.maxOutputTokens"))?;
    if context_window_tokens < 2 {
        return Err(invalid("model.contextWindowTokens", "expected at least 2"));
    }
    if max_output_tokens == 0 {
        return Err(invalid("model.maxOutputTokens", "expected at least 1"));
    }
    let source = match layer.model.path {
        None => ModelSource::BuiltInPocket,
        Some(path) if path.is_empty() => return Err(invalid("model.path", "expected a folder")),
        Some(path) => ModelSource::Folder(PathBuf::from(path)),
    };
    let max_body_mb = layer.server.max_body_mb.ok_or_else(|| required("server.maxBodyMb"))?;
    if !(1..=1024).contains(&max_body_mb) {
        return Err(invalid("server.maxBodyMb", "expected a number from 1 to 1024"));
    }
    let worker = layer.worker;
    let idle_enabled = worker.idle_unload.enabled.ok_or_else(|| required("worker.idleUnload.enabled"))?;
    let idle_ms = worker.idle_unload.idle_ms.ok_or_else(|| required("worker.idleUnload.idleMs"))?;
    Ok(Settings {
        server: ServerSettings {
            pinned_port,
            max_body_bytes: usize::try_from(max_body_mb * 1024 * 1024).unwrap_or(usize::MAX),
        },
        profile: Profile {
            model_id: layer.model.id.filter(|id| !id.is_empty()).ok_or_else(|| required("model.id"))?,
            source,
            context_window_tokens,
            max_output_tokens,
            temperature,
            top_p,
        },
        worker: WorkerSettings {
            startup_timeout_ms: worker
                .startup_timeout_ms
                .ok_or_else(|| required("worker.startupTimeoutMs"))?,
            request_timeout_ms: worker
                .request_timeout_ms
                .ok_or_else(|| required("worker.requestTimeoutMs"))?,
            queue_max_wait_ms: worker.queue.max_wait_ms.ok_or_else(|| required("worker.queue.maxWaitMs"))?,
            queue_max_depth: worker.queue.max_depth.ok_or_else(|| required("worker.queue.maxDepth"))?,
            idle_unload_ms: idle_enabled.then_some(idle_ms),
            max_consecutive_errors: worker
                .recycle
                .max_consecutive_errors
                .ok_or_else(|| required("worker.recycle.maxConsecutiveErrors"))?,
            cooldown_ms: worker.recycle.cooldown_ms.ok_or_else(|| required("worker.recycle.cooldownMs"))?,
            python_executable: worker.python_executable.filter(|path| !path.is_empty()).map(PathBuf::from),
        },
        log_level: environment
            .log
            .clone()
            .filter(|level| !level.is_empty())
            .or(layer.logging.level)
            .ok_or_else(|| required("logging.level"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unwrap_in_result, reason = "a test may panic")]
    fn load_with(local: Option<&str>, environment: &Environment) -> Result<LoadedSettings, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap();
        if let Some(text) = local {
            std::fs::write(home.local_config(), text).unwrap();
        }
        load(&home, environment)
    }

    fn local(text: &str) -> Result<LoadedSettings, ConfigError> {
        load_with(Some(text), &Environment::default())
    }

    #[test]
    fn without_a_file_the_pocket_model_is_served_with_its_own_window_and_sampling() {
        let settings = load_with(None, &Environment::default()).unwrap().settings;
        assert_eq!(settings.profile.model_id, "gemma-4-pocket");
        assert_eq!(settings.profile.source, ModelSource::BuiltInPocket);
        assert_eq!(settings.profile.context_window_tokens, 65_536);
        assert_eq!(settings.profile.temperature, 0.0);
        assert_eq!(settings.server.pinned_port, None);
        assert_eq!(settings.worker.idle_unload_ms, Some(300_000));
    }

    #[test]
    fn a_local_model_gets_the_general_defaults_not_those_of_pocket() {
        let settings = local(r#"{"model":{"id":"mine","path":"/models/mine"}}"#).unwrap().settings;
        assert_eq!(settings.profile.source, ModelSource::Folder("/models/mine".into()));
        assert_eq!(settings.profile.context_window_tokens, 32_768);
        assert_eq!(settings.profile.temperature, 0.7);
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_path_and_does_not_stop_the_server() {
        let loaded = local(r#"{"server":{"prot":4018},"colour":"red"}"#).unwrap();
        assert_eq!(loaded.unknown_keys, ["server.prot", "colour"]);
    }

    #[test]
    fn an_ill_typed_value_names_file_path_and_expectation() {
        let message = local(r#"{"worker":{"queue":{"maxDepth":"four"}}}"#).unwrap_err().to_string();
        assert!(message.contains("local.json"), "{message}");
        assert!(message.contains("worker.queue.maxDepth"), "{message}");
        assert!(message.contains("u32"), "{message}");
    }

    #[test]
    fn a_torn_file_is_refused_whole() {
        assert!(matches!(local(r#"{"server":{"port":40"#), Err(ConfigError::Invalid { .. })));
        assert!(matches!(local(r#"{} trailing"#), Err(ConfigError::Invalid { .. })));
    }

    #[test]
    fn the_environment_pins_the_port_over_the_file() {
        let environment = Environment { port: Some("5001".into()), log: None };
        let loaded = load_with(Some(r#"{"server":{"port":5000}}"#), &environment).unwrap();
        assert_eq!(loaded.settings.server.pinned_port, Some(5001));
    }

    #[test]
    fn an_impossible_port_in_the_environment_names_the_variable() {
        for found in ["0", "70000", "abc", "-1"] {
            let environment = Environment { port: Some(found.into()), log: None };
            let message = load_with(None, &environment).unwrap_err().to_string();
            assert!(message.contains("HANGAR_PORT") && message.contains(found), "{message}");
        }
    }

    #[test]
    fn impossible_values_name_their_path() {
        for (text, path) in [
            (r#"{"server":{"host":"0.0.0.0"}}"#, "server.host"),
            (r#"{"server":{"port":0}}"#, "server.port"),
            (r#"{"model":{"sampling":{"temperature":3}}}"#, "model.sampling.temperature"),
            (r#"{"model":{"sampling":{"topP":0}}}"#, "model.sampling.topP"),
            (r#"{"model":{"maxOutputTokens":0}}"#, "model.maxOutputTokens"),
            (r#"{"server":{"maxBodyMb":0}}"#, "server.maxBodyMb"),
            (r#"{"model":{"path":""}}"#, "model.path"),
        ] {
            let message = local(text).unwrap_err().to_string();
            assert!(message.contains(path), "{message}");
        }
    }
}
