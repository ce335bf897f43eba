//! What comes with the program: the profiles, the defaults, the examples.

use super::*;

#[test]
fn without_a_file_the_pocket_model_is_served_with_its_own_window_and_sampling() {
    let settings = fresh();
    let pocket = settings.profiles.default_profile();
    assert_eq!((pocket.id.as_str(), pocket.model_id.as_str()), ("pocket", "gemma-4-pocket"));
    assert_eq!(pocket.source, ModelSource::BuiltInPocket);
    assert_eq!(pocket.context_window_tokens, 65_536);
    assert_eq!(pocket.sampling, SamplingSettings { temperature: 0.0, top_p: 0.9 });
    assert_eq!(settings.server.pinned_port, None);
    assert_eq!(settings.server.host, ListenHost::Loopback);
}

#[test]
fn defaults_are_those_clients_know() {
    let settings = fresh();
    insta::assert_debug_snapshot!(settings.profiles.find("e2b").unwrap());
    assert_eq!(settings.server.max_body_bytes, 64 * 1024 * 1024);
    assert!(settings.governor.enabled && settings.governor.ceiling_gib.is_none());
    assert!(settings.governor.state_dir.ends_with("governor"));
}

#[test]
fn every_shipped_profile_states_the_facts_of_its_model() {
    let settings = fresh();
    let lines: Vec<String> = settings
        .profiles
        .iter()
        .map(|profile| {
            let takes = Modality::ALL.into_iter().filter(|kind| profile.modalities.takes(*kind));
            let takes: Vec<&str> = takes.map(Modality::word).collect();
            format!(
                "{} | {} | {} | {:?} | {} | {} | {:?} / {} | {:?} | {}",
                profile.id,
                profile.model_id,
                profile.repository.as_ref().map_or("-", RepositoryId::as_str),
                profile.source,
                profile.backend.word(),
                takes.join(" "),
                profile.native_window_tokens,
                profile.context_window_tokens,
                profile.estimate,
                profile.priority,
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_profile_is_found_by_its_name_its_served_name_and_its_repository() {
    let profiles = fresh().profiles;
    for name in ["e2b", "gemma-local-mlx-turboquant-e2b-4bit", "majentik/gemma-4-E2B-it-TurboQuant-MLX-4bit"]
    {
        assert_eq!(profiles.find(name).unwrap().id.as_str(), "e2b", "{name}");
    }
    assert!(profiles.find("E2B").is_none() && profiles.find("").is_none());
}

#[test]
fn every_example_loads_without_a_word_and_serves_what_it_is_named_for() {
    let folder = repository_root().join("config");
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(named) = name.strip_suffix(".example.json") else {
            continue;
        };
        let loaded = Place::new(Some(&std::fs::read(&path).unwrap())).load().unwrap();
        assert_eq!(loaded.unknown_keys, [], "{name}");
        assert_eq!(loaded.adjustments, [], "{name}");
        if named != "local" {
            assert_eq!(default_id(&loaded), named, "{name}");
        }
        seen.push(named.to_owned());
    }
    seen.sort();
    let mut wanted: Vec<String> = fresh().profiles.iter().map(|profile| profile.id.to_string()).collect();
    wanted.push("local".to_owned());
    wanted.sort();
    assert_eq!(seen, wanted);
}

#[test]
fn the_schema_is_the_one_made_from_the_types() {
    let path = repository_root().join("config/schema.json");
    let made = format!("{:#}\n", super::schema::schema());
    if std::env::var_os("HANGAR_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "config/schema.json is stale: run this test with HANGAR_WRITE_SCHEMA=1");
}

#[test]
fn the_documentation_names_every_key_with_its_default() {
    let path = repository_root().join("docs/configuration.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- keys -->\n", "<!-- end of keys -->\n");
    let (before, rest) = text.split_once(begin).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    let made = super::schema::table();
    if std::env::var_os("HANGAR_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
        return;
    }
    assert!(found == made, "docs/configuration.md is stale: run this test with HANGAR_WRITE_SCHEMA=1");
}
