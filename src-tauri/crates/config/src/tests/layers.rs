//! Merge order: default, shipped profile, top level of the local file, its profiles, environment.

use super::*;

#[test]
fn each_layer_wins_over_the_one_before_it() {
    let depth = |text: &str, name: &str| profile(&local(text).unwrap(), name).worker.queue_max_depth;
    assert_eq!(depth("{}", "e2b"), 4);
    let top = r#"{"worker":{"queue":{"maxDepth":7}}}"#;
    assert_eq!((depth(top, "e2b"), depth(top, "pocket")), (7, 7));
    let both =
        r#"{"worker":{"queue":{"maxDepth":7}},"profiles":{"e2b":{"worker":{"queue":{"maxDepth":1}}}}}"#;
    assert_eq!((depth(both, "e2b"), depth(both, "pocket")), (1, 7));
    let window = |text: &str, name: &str| profile(&local(text).unwrap(), name).context_window_tokens;
    assert_eq!((window("{}", "26b"), window("{}", "e2b")), (65_536, 32_768));
    let top = r#"{"model":{"contextWindowTokens":16384}}"#;
    assert_eq!((window(top, "26b"), window(top, "e2b"), window(top, "pocket")), (16_384, 16_384, 16_384));
}

#[test]
fn a_sibling_key_keeps_its_weaker_value() {
    let loaded = local(r#"{"modalities":{"audio":{"enabled":false}}}"#).unwrap();
    let modalities = profile(&loaded, "e2b").modalities;
    assert!(!modalities.audio.enabled && !modalities.takes(Modality::Audio));
    assert_eq!(modalities.audio.allowed_mime_types.len(), 8);
    assert!(modalities.transcode.enabled);
}

#[test]
fn what_a_model_cannot_take_is_not_taken_however_it_is_configured() {
    let loaded = local(r#"{"modalities":{"audio":{"enabled":true}}}"#).unwrap();
    assert!(!profile(&loaded, "26b").modalities.takes(Modality::Audio));
    assert!(profile(&loaded, "e2b").modalities.takes(Modality::Audio));
    assert!(profile(&loaded, "26b").modalities.takes(Modality::Image));
}

#[test]
fn the_environment_wins_over_the_file() {
    let place = Place::new(Some(br#"{"server":{"port":5000},"logging":{"level":"warn"}}"#));
    let environment =
        Environment { port: Some("5001".into()), log: Some("debug".into()), ..Environment::default() };
    let loaded = load(&place.home, &environment).unwrap();
    assert_eq!(loaded.settings.server.pinned_port, Some(5001));
    assert_eq!(loaded.settings.log_level, "debug");
    let origin = |path: &str| loaded.values.iter().find(|value| value.path == path).unwrap().origin.clone();
    assert_eq!(origin("server.port"), Origin::Environment("HANGAR_PORT"));
    assert_eq!(origin("server.maxBodyMb"), Origin::Default);
}

#[test]
fn an_impossible_port_in_the_environment_names_the_variable() {
    for found in ["0", "80", "70000", "abc", "-1"] {
        let environment = Environment { port: Some(found.into()), ..Environment::default() };
        let message = load(&Place::new(None).home, &environment).unwrap_err().to_string();
        assert!(message.contains("HANGAR_PORT") && message.contains(found), "{message}");
    }
    let empty = |name: &str| (name == "HANGAR_PORT").then(String::new);
    assert_eq!(Environment::read(empty), Environment::default());
}

#[test]
fn a_profile_of_ones_own_needs_only_a_folder_and_gets_the_general_defaults() {
    let text = r#"{"defaultProfile":"mine","profiles":{"mine":{"model":{"path":"~/models/mine"}}}}"#;
    let loaded = local(text).unwrap();
    let mine = loaded.settings.profiles.default_profile();
    assert_eq!((mine.id.as_str(), mine.model_id.as_str()), ("mine", "mine"));
    assert_eq!(mine.source, ModelSource::Folder("/home/ada/models/mine".into()));
    assert_eq!((mine.context_window_tokens, mine.sampling.temperature), (32_768, 0.7));
    assert_eq!(mine.estimate, Estimate::Computed { weights_gib: None });
    assert_eq!(loaded.settings.profiles.iter().count(), 7);
}

#[test]
fn a_relative_folder_counts_from_the_file() {
    let place = Place::new(Some(br#"{"profiles":{"mine":{"model":{"path":"./models/mine"}}}}"#));
    let mine = profile(&place.load().unwrap(), "mine");
    assert_eq!(mine.source, ModelSource::Folder(place.folder.path().join("./models/mine")));
}

#[test]
fn no_name_means_two_profiles() {
    let text = r#"{"profiles":{"mine":{"model":{"path":"/m","id":"gemma-4-pocket"}}}}"#;
    let found = problems(local(text));
    assert_eq!(found[0].json_path, "profiles.mine.model.id");
    assert!(found[0].expected.contains("pocket"), "{found:?}");
}
