//! `hangar config`: the configuration looked over, shown with where each value came from, and found.

use std::process::ExitCode;

use hangar_config::{ConfigError, LoadedSettings, ProfileId, SettledValue, local_file};
use serde_json::{Map, Value, json};

use crate::arguments::{Config, ConfigShow, Json};
use crate::failure::Failure;
use crate::{place, say};

/// Carries out one of the config commands.
pub(crate) fn config(command: &Config) -> Result<ExitCode, Failure> {
    match command {
        Config::Check(options) => check(*options),
        Config::Show(options) => show(options),
        Config::Path(options) => path(*options),
    }
}

fn path(options: Json) -> Result<ExitCode, Failure> {
    let file = local_file(&place::home()?, &place::environment());
    if options.json {
        say::line(&json!({ "path": file, "exists": file.exists() }).to_string());
    } else {
        say::line(&file.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn check(options: Json) -> Result<ExitCode, Failure> {
    let home = place::home()?;
    let environment = place::environment();
    let checked = match hangar_config::load(&home, &environment) {
        Ok(loaded) => Checked::of(&loaded),
        // As text it is told like any other failure, with its cure.
        Err(error) if options.json => Checked::refused(&local_file(&home, &environment), &error),
        Err(error) => return Err(error.into()),
    };
    say::line(&if options.json { format!("{:#}", checked.json) } else { checked.text });
    Ok(if checked.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(options: &ConfigShow) -> Result<ExitCode, Failure> {
    let loaded = place::settings(&place::home()?)?;
    if options.json {
        say::line(&format!("{:#}", everything(&loaded)));
        return Ok(ExitCode::SUCCESS);
    }
    let profiles = &loaded.settings.profiles;
    let profile = match &options.profile {
        None => profiles.default_profile(),
        Some(asked) => profiles.find(asked).ok_or_else(|| Failure::NoProfile {
            asked: asked.clone(),
            known: profiles.iter().map(|profile| profile.id.to_string()).collect(),
        })?,
    };
    say::line(&table(&loaded, profile.id.as_str()));
    Ok(ExitCode::SUCCESS)
}

/// What a look over the configuration found.
struct Checked {
    ok: bool,
    text: String,
    json: Value,
}

impl Checked {
    fn of(loaded: &LoadedSettings) -> Self {
        let file = loaded.file.display();
        let ok = loaded.unknown_keys.is_empty();
        let mut lines = vec![match (loaded.file_is_there, ok) {
            (false, _) => format!("{file} is not there: Hangar runs with its defaults"),
            (true, true) => format!("{file} is fine"),
            (true, false) => format!("{file} can be used, but not all of it is"),
        }];
        lines.extend(loaded.unknown_keys.iter().map(|key| format!("  {key}")));
        lines.extend(loaded.adjustments.iter().map(|adjustment| format!("  {adjustment}")));
        let unknown = loaded.unknown_keys.iter();
        let json = json!({
            "ok": ok,
            "file": loaded.file,
            "exists": loaded.file_is_there,
            "unknown_keys": unknown
                .map(|key| json!({ "path": key.path, "nearest": key.nearest }))
                .collect::<Vec<_>>(),
            "adjustments": loaded.adjustments,
            "problems": [],
        });
        Self { ok, text: lines.join("\n"), json }
    }

    fn refused(file: &std::path::Path, error: &ConfigError) -> Self {
        let problems: Vec<Value> = match error {
            ConfigError::Invalid { problems, .. } => problems
                .iter()
                .map(|problem| json!({ "path": problem.json_path, "expected": problem.expected }))
                .collect(),
            ConfigError::Malformed { line, column, expected, .. } => {
                vec![json!({ "line": line, "column": column, "expected": expected })]
            }
            ConfigError::Unreadable { .. } | ConfigError::Environment { .. } => {
                vec![json!({ "expected": error.to_string() })]
            }
        };
        let json = json!({
            "ok": false,
            "file": file,
            "exists": file.exists(),
            "unknown_keys": [],
            "adjustments": [],
            "problems": problems,
        });
        Self { ok: false, text: error.to_string(), json }
    }
}

/// The values of the service and of one profile.
fn table(loaded: &LoadedSettings, profile: &str) -> String {
    let default = loaded.settings.profiles.default_profile().id.as_str();
    let others: Vec<&str> = loaded.settings.profiles.iter().map(|profile| profile.id.as_str()).collect();
    let mut rows = vec![["service".to_owned(), String::new(), String::new()]];
    rows.extend(rows_of(loaded, None));
    let title = if profile == default {
        format!("profile {profile}, the default")
    } else {
        format!("profile {profile}")
    };
    rows.push([title, String::new(), String::new()]);
    rows.extend(rows_of(loaded, Some(profile)));
    format!("{}\nprofiles: {}", say::table(&rows), others.join(", "))
}

fn rows_of(loaded: &LoadedSettings, profile: Option<&str>) -> Vec<[String; 3]> {
    let wanted = |value: &&SettledValue| value.profile.as_ref().map(ProfileId::as_str) == profile;
    loaded.values.iter().filter(wanted).map(row).collect()
}

fn row(value: &SettledValue) -> [String; 3] {
    [format!("  {}", value.path), plain(&value.value), value.origin.to_string()]
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// All values of the service and of all profiles.
fn everything(loaded: &LoadedSettings) -> Value {
    let mut service = Map::new();
    let mut profiles = Map::new();
    for value in &loaded.values {
        let told = json!({ "value": value.value, "from": value.origin.to_string() });
        let map = match &value.profile {
            None => &mut service,
            Some(profile) => {
                let entry = profiles.entry(profile.as_str()).or_insert_with(|| Value::Object(Map::new()));
                match entry.as_object_mut() {
                    Some(map) => map,
                    None => continue,
                }
            }
        };
        map.insert(value.path.clone(), told);
    }
    json!({
        "file": loaded.file,
        "exists": loaded.file_is_there,
        "default_profile": loaded.settings.profiles.default_profile().id,
        "service": service,
        "profiles": profiles,
    })
}

#[cfg(test)]
mod tests {
    use hangar_config::{Environment, Home};

    use super::*;

    const LOCAL: &str = r#"{
        "defaultProfile": "e2b",
        "server": { "apiKey": "hush-hush-hush", "prot": 4018 },
        "worker": { "queue": { "maxDepth": 8 } },
        "profiles": { "e2b": { "sessions": { "ttl_s": 900 } } }
    }"#;

    fn loaded(text: Option<&str>) -> (tempfile::TempDir, Result<LoadedSettings, ConfigError>) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap();
        if let Some(text) = text {
            std::fs::write(home.local_config(), text).unwrap();
        }
        let environment = Environment { port: Some("5001".to_owned()), ..Environment::default() };
        let result = hangar_config::load(&home, &environment);
        (folder, result)
    }

    fn without(folder: &tempfile::TempDir, text: &str) -> String {
        text.replace(&folder.path().display().to_string(), "HOME")
    }

    #[test]
    fn every_value_is_shown_with_its_layer_and_the_key_is_not() {
        let (folder, loaded) = loaded(Some(LOCAL));
        let loaded = loaded.unwrap();
        let text = without(&folder, &table(&loaded, "e2b"));
        assert!(!text.contains("hush"), "{text}");
        // The width of a column goes by the name of the test's own folder.
        let cells = |line: &str| {
            let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            cells.join(" | ")
        };
        insta::assert_snapshot!(text.lines().map(cells).collect::<Vec<_>>().join("\n"));
        assert!(table(&loaded, "pocket").contains("profile pocket\n"));
    }

    #[test]
    fn all_profiles_are_in_the_json_and_the_key_is_not() {
        let (_folder, loaded) = loaded(Some(LOCAL));
        let all = everything(&loaded.unwrap());
        assert_eq!(all["default_profile"], "e2b");
        assert_eq!(all["profiles"].as_object().unwrap().len(), 6);
        let depth = json!({ "value": 8, "from": "local file" });
        assert_eq!(all["profiles"]["26b"]["worker.queue.maxDepth"], depth);
        let port = json!({ "value": 5001, "from": "environment, HANGAR_PORT" });
        assert_eq!(all["service"]["server.port"], port);
        assert!(!all.to_string().contains("hush"), "{all}");
    }

    #[test]
    fn a_check_names_what_is_not_read_and_what_was_lowered() {
        let (folder, loaded) = loaded(Some(LOCAL));
        let checked = Checked::of(&loaded.unwrap());
        assert!(!checked.ok);
        insta::assert_snapshot!(without(&folder, &checked.text));
        insta::assert_snapshot!("check_json", without(&folder, &format!("{:#}", checked.json)));
    }

    #[test]
    fn a_lowered_value_alone_is_no_failure_and_no_file_is_fine() {
        let (_folder, lowered) = loaded(Some(r#"{"sessions":{"ttl_s":900}}"#));
        let lowered = Checked::of(&lowered.unwrap());
        assert!(lowered.ok && lowered.text.contains("is fine") && lowered.text.contains("sessions.ttl_s"));
        let (_folder, none) = loaded(None);
        let none = Checked::of(&none.unwrap());
        assert!(none.ok && none.text.contains("is not there"), "{}", none.text);
    }

    #[test]
    fn what_is_refused_is_a_list_in_json() {
        let (folder, refused) = loaded(Some(r#"{"server":{"port":"x"},"worker":{"lazyLoad":1}}"#));
        let checked = Checked::refused(&folder.path().join("local.json"), &refused.unwrap_err());
        assert!(!checked.ok);
        let paths: Vec<&str> = checked.json["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["server.port", "worker.lazyLoad"]);
    }
}
