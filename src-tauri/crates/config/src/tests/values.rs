//! Single values: types, ranges, clamps, and what no message may show.

use super::*;

#[test]
fn every_value_of_a_wrong_type_is_named_not_only_the_first() {
    let text = r#"{"server": {"port": "8080"}, "worker": {"queue": {"maxDepth": "one"}},
                   "modalities": {"image": {"enabled": "yes"}}, "sessions": [], "profiles": {"e2b": {"model": 5}}}"#;
    let message = local(text).unwrap_err().to_string();
    insta::assert_snapshot!(message.split_once("local.json").unwrap().1);
}

#[test]
fn impossible_values_name_their_path() {
    for (text, path) in [
        (r#"{"server":{"host":"0.0.0.0"}}"#, "server.host"),
        (r#"{"server":{"host":"everywhere"}}"#, "server.host"),
        (r#"{"server":{"port":0}}"#, "server.port"),
        (r#"{"server":{"port":80}}"#, "server.port"),
        (r#"{"server":{"port":70000}}"#, "server.port"),
        (r#"{"server":{"port":5000.5}}"#, "server.port"),
        (r#"{"server":{"maxBodyMb":0}}"#, "server.maxBodyMb"),
        (r#"{"server":{"allowedHosts":["box/page"]}}"#, "server.allowedHosts[0]"),
        (r#"{"server":{"apiKey":"short"}}"#, "server.apiKey"),
        (r#"{"model":{"sampling":{"temperature":3}}}"#, "model.sampling.temperature"),
        (r#"{"model":{"sampling":{"topP":0}}}"#, "model.sampling.topP"),
        (r#"{"model":{"maxOutputTokens":0}}"#, "model.maxOutputTokens"),
        (r#"{"model":{"contextWindowTokens":1}}"#, "model.contextWindowTokens"),
        (r#"{"model":{"path":""}}"#, "model.path"),
        (r#"{"model":{"kvCache":{"bits":3.3}}}"#, "model.kvCache.bits"),
        (r#"{"model":{"kvCache":{"quantScheme":"zip"}}}"#, "model.kvCache.quantScheme"),
        (r#"{"model":{"diffusion":{"diffusion_sampler":"bogus"}}}"#, "model.diffusion.diffusion_sampler"),
        (r#"{"modalities":{"image":{"transport":["fax"]}}}"#, "modalities.image.transport[0]"),
        (r#"{"worker":{"backend":"cuda"}}"#, "worker.backend"),
        (r#"{"worker":{"requestTimeoutMs":0}}"#, "worker.requestTimeoutMs"),
        (r#"{"worker":{"recycle":{"maxConsecutiveErrors":0}}}"#, "worker.recycle.maxConsecutiveErrors"),
        (r#"{"governor":{"ceilingGb":-1}}"#, "governor.ceilingGb"),
        (r#"{"sessions":{"onOverflow":"evict"}}"#, "sessions.onOverflow"),
        (r#"{"sessions":{"ttl_s":1e999}}"#, "local.json:1:"),
        (r#"{"logging":{"level":"loud"}}"#, "logging.level"),
        (r#"{"logging":{"level":"hangar=loud"}}"#, "logging.level"),
        (r#"{"defaultProfile":"none"}"#, "defaultProfile"),
        (r#"{"profiles":{"mine":{}}}"#, "profiles.mine.model.path"),
        (r#"{"profiles":{"a b":{}}}"#, "profiles"),
    ] {
        let message = local(text).unwrap_err().to_string();
        assert!(message.contains(path), "{text}: {message}");
        assert!(message.contains("local.json"), "{text}: {message}");
    }
}

#[test]
fn a_clamp_is_reported_and_what_cannot_be_a_length_of_time_is_refused() {
    for (asked, used) in [("60", 45.0), ("45", 45.0), ("20", 20.0)] {
        let loaded = local(&format!(r#"{{"sessions":{{"audio_seconds_per_turn":{asked}}}}}"#)).unwrap();
        let sessions = loaded.settings.profiles.default_profile().sessions;
        assert_eq!(sessions.audio_seconds_per_turn, used);
        let clamped = loaded.adjustments.iter().any(|found| found.path == "sessions.audio_seconds_per_turn");
        assert_eq!(clamped, asked == "60");
    }
    for asked in ["0", "-1", "\"NaN\""] {
        let found = problems(local(&format!(r#"{{"sessions":{{"audio_seconds_per_turn":{asked}}}}}"#)));
        assert_eq!(found[0].json_path, "sessions.audio_seconds_per_turn");
    }
}

#[test]
fn clamps_of_sessions_can_be_raised_each_by_its_own_key() {
    let text = r#"{"sessions":{"ttl_s":900,"max_turns":40,"audio_seconds_per_turn":90}}"#;
    let pocket = |loaded: &LoadedSettings| loaded.settings.profiles.default_profile().sessions;
    let loaded = local(text).unwrap();
    let sessions = pocket(&loaded);
    assert_eq!((sessions.ttl_s, sessions.max_turns, sessions.audio_seconds_per_turn), (300.0, 16, 45.0));
    let told: Vec<String> = loaded
        .adjustments
        .iter()
        .filter(|found| found.profile.as_ref().is_some_and(|profile| profile.as_str() == "pocket"))
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(told.join("\n"));
    let raised =
        text.replace("\"ttl_s\"", "\"maxTtlS\":900,\"maxTurnsLimit\":40,\"longAudioSeconds\":90,\"ttl_s\"");
    let sessions = pocket(&local(&raised).unwrap());
    assert_eq!((sessions.ttl_s, sessions.max_turns, sessions.audio_seconds_per_turn), (900.0, 40, 90.0));
}

#[test]
fn a_window_over_the_native_one_is_lowered_and_answers_never_exceed_the_window() {
    let text = r#"{"profiles":{"e2b":{"model":{"contextWindowTokens":200000}},"26b":{"model":{"contextWindowTokens":100}}}}"#;
    let loaded = local(text).unwrap();
    assert_eq!(profile(&loaded, "e2b").context_window_tokens, 131_072);
    assert_eq!(profile(&loaded, "26b").max_output_tokens, 100);
    assert_eq!(profile(&loaded, "26b").sessions.max_context_tokens, 100);
    let paths: Vec<&str> = loaded.adjustments.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(paths, ["model.contextWindowTokens"], "what nobody asked for is lowered without a word");
}

#[test]
fn a_key_is_in_no_debug_form_no_message_and_no_list_of_values() {
    let text = r#"{"server":{"apiKey":"hush-hush-hush"}}"#;
    let loaded = local(text).unwrap();
    assert_eq!(loaded.settings.server.api_key.as_ref().unwrap().expose(), "hush-hush-hush");
    assert!(!format!("{loaded:?}").contains("hush"));
    for bad in [r#""hush hush hush""#, "1234567890", r#"["hush-hush-hush"]"#, r#"{"hush-hush":1}"#] {
        let error = local(&format!(r#"{{"server":{{"apiKey":{bad}}}}}"#)).unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(told.contains("server.apiKey"), "{told}");
        assert!(!told.contains("hush") && !told.contains("1234567890"), "{told}");
    }
}

#[test]
fn another_address_needs_allowed_hosts_and_a_key() {
    let with = |more: &str| local(&format!(r#"{{"server":{{"host":"0.0.0.0"{more}}}}}"#));
    let hosts = r#","allowedHosts":["Box.lan","[fd00::1]:8443"]"#;
    let key = r#","apiKey":"a-long-key""#;
    for more in ["", hosts, key] {
        assert_eq!(problems(with(more))[0].json_path, "server.host");
    }
    let server = with(&format!("{hosts}{key}")).unwrap().settings.server;
    assert_eq!(server.host, ListenHost::Address("0.0.0.0".parse().unwrap()));
    assert!(server.admin_local_only);
    let names: Vec<&str> = server.allowed_hosts.iter().map(AllowedHost::as_str).collect();
    assert_eq!(names, ["box.lan", "[fd00::1]:8443"]);
    for host in ["127.0.0.1", "localhost", "::1"] {
        let text = format!(r#"{{"server":{{"host":"{host}"}}}}"#);
        assert_eq!(local(&text).unwrap().settings.server.host, ListenHost::Loopback);
    }
}
