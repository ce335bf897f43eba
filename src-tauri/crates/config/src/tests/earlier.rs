//! A local file of the earlier service starts its model unchanged.

use super::*;

const EARLIER: &str = r#"{
  "server": { "host": "127.0.0.1", "port": 4017, "adminLocalOnly": true },
  "model": {
    "id": "gemma-local-mlx-turboquant-26b-a4b-8bit",
    "path": "/Users/ada/models/gemma-4-26B-A4B-it-TurboQuant-MLX-8bit",
    "contextWindowTokens": 131072,
    "maxOutputTokens": 4096,
    "sampling": { "temperature": 0.6, "topP": 0.95 },
    "kvCache": { "enabled": true, "bits": 4, "groupSize": 64, "quantizedKvStart": 0, "quantScheme": "turboquant" }
  },
  "modalities": {
    "text": { "enabled": true },
    "image": {
      "enabled": true, "maxInputs": 4, "maxBytesMb": 20,
      "allowedMimeTypes": ["image/png", "image/jpeg", "image/webp"], "transport": ["data_url"]
    },
    "audio": { "enabled": false },
    "video": { "enabled": false },
    "document": { "enabled": false },
    "strictCapabilityCheck": true
  },
  "governor": {
    "enabled": true, "instanceId": "turbo-26b", "priority": 1, "rssEstimateLoadedGb": 29.0,
    "stateDir": "/Users/ada/.gemma-governor", "ceilingGb": 34.0,
    "allowLowerPriorityToPreemptHigher": false, "staleAfterSeconds": 90
  },
  "worker": {
    "backend": "mlx_vlm_turboquant", "startupTimeoutMs": 180000, "requestTimeoutMs": 300000,
    "probeTimeoutMs": 2000, "pythonExecutable": "/Users/ada/venv/bin/python", "lazyLoad": true,
    "idleUnload": { "enabled": true, "idleMs": 600000 }, "queue": { "maxDepth": 1 },
    "recycle": { "maxConsecutiveErrors": 2, "cooldownMs": 10000 }
  },
  "sessions": {
    "ttl_s": 120, "max_turns": 8, "max_context_tokens": 16000, "audio_seconds_per_turn": 45,
    "onOverflow": "reject", "reaperIntervalS": 5
  },
  "logging": { "level": "info" }
}"#;

#[test]
fn its_model_is_the_default_with_every_value_as_it_stands_there() {
    let loaded = local(EARLIER).unwrap();
    assert_eq!(loaded.unknown_keys, []);
    insta::assert_debug_snapshot!(loaded.settings.profiles.default_profile());
    let settings = &loaded.settings;
    assert_eq!(settings.server.pinned_port, Some(4017));
    assert_eq!(settings.governor.instance_id, "turbo-26b");
    assert_eq!(settings.governor.state_dir, Path::new("/Users/ada/.gemma-governor"));
    assert_eq!((settings.governor.ceiling_gib, settings.governor.stale_after_s), (Some(34.0), 90));
    let of_default = loaded.adjustments.iter().filter(|found| {
        found.profile.as_ref().is_some_and(|profile| *profile == settings.profiles.default_profile().id)
    });
    assert_eq!(of_default.count(), 0);
}

#[test]
fn what_it_says_of_its_model_is_not_said_of_the_others() {
    let loaded = local(EARLIER).unwrap();
    let pocket = profile(&loaded, "pocket");
    assert_eq!((pocket.model_id.as_str(), pocket.priority), ("gemma-4-pocket", 9));
    assert_eq!(pocket.source, ModelSource::BuiltInPocket);
    assert!(matches!(pocket.estimate, Estimate::Measured { .. }));
    assert_eq!(profile(&loaded, "diffusion").backend, Backend::DiffusionGemma);
    // Everything else wins over shipped profiles.
    assert_eq!((pocket.worker.queue_max_depth, pocket.sampling.temperature), (1, 0.6));
}

#[test]
fn a_copy_of_a_known_model_takes_its_place_and_keeps_what_is_known_of_it() {
    let id = "gemma-local-mlx-turboquant-26b-a4b-8bit";
    let loaded = local(&format!(r#"{{"model":{{"id":"{id}","path":"/m/26b"}}}}"#)).unwrap();
    assert_eq!(default_id(&loaded), id);
    let copy = profile(&loaded, id);
    assert_eq!(copy.source, ModelSource::Folder("/m/26b".into()));
    assert_eq!(copy.estimate, Estimate::Measured { gib: 29.0 });
    assert_eq!(copy.native_window_tokens, Some(262_144));
    assert_eq!(loaded.settings.profiles.iter().filter(|known| known.model_id == id).count(), 1);
}

#[test]
fn a_model_nobody_knows_is_one_more_profile_named_by_its_id() {
    let loaded = local(r#"{"model":{"id":"mine","path":"/models/mine"}}"#).unwrap();
    assert_eq!(default_id(&loaded), "mine");
    let mine = profile(&loaded, "mine");
    assert_eq!(mine.source, ModelSource::Folder("/models/mine".into()));
    assert_eq!((mine.context_window_tokens, mine.sampling.temperature), (32_768, 0.7));
    assert_eq!(loaded.settings.profiles.iter().count(), 7);
}

#[test]
fn a_name_alone_chooses_a_shipped_profile_and_a_repository_is_no_folder() {
    let loaded = local(r#"{"model":{"id":"gemma-local-mlx-turboquant-e2b-4bit"}}"#).unwrap();
    assert_eq!(default_id(&loaded), "e2b");
    assert_eq!(problems(local(r#"{"model":{"id":"unheard-of"}}"#))[0].json_path, "model.path");
    let text = r#"{"model":{"path":"deadbydawn101/gemma-4-E4B-mlx-4bit"}}"#;
    let loaded = local(text).unwrap();
    assert_eq!(default_id(&loaded), "gemma-4-E4B-mlx-4bit");
    let source = loaded.settings.profiles.default_profile().source.clone();
    assert!(matches!(source, ModelSource::Repository(_)), "{source:?}");
}

#[test]
fn a_name_that_cannot_stand_in_an_address_still_serves() {
    let loaded = local(r#"{"model":{"id":"my org/Gemma 4","path":"/m"}}"#).unwrap();
    assert_eq!(default_id(&loaded), "my-org-Gemma-4");
    assert_eq!(profile(&loaded, "my org/Gemma 4").model_id, "my org/Gemma 4");
}
