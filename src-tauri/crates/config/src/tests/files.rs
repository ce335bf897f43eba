//! Reading: comments, encodings, torn files, unknown keys. Nothing is half-read and nothing is rewritten.

use super::*;

#[test]
fn comments_and_trailing_commas_are_read() {
    let text = "// mine\n{ \"server\": { \"port\": 5000, /* pinned */ }, }\n";
    assert_eq!(local(text).unwrap().settings.server.pinned_port, Some(5000));
}

#[test]
fn a_byte_order_mark_is_read_over_and_utf_16_is_named() {
    let with_mark = [b"\xEF\xBB\xBF".as_slice(), b"{\"server\":{\"port\":5000}}"].concat();
    assert_eq!(Place::new(Some(&with_mark)).load().unwrap().settings.server.pinned_port, Some(5000));
    for mark in [[0xFF, 0xFE], [0xFE, 0xFF]] {
        let text: Vec<u8> = mark.into_iter().chain([b'{', 0, b'}', 0]).collect();
        let message = Place::new(Some(&text)).load().unwrap_err().to_string();
        assert!(message.contains("UTF-16") && message.contains("local.json"), "{message}");
    }
    let message = Place::new(Some(b"{\n\"a\": \"\xE9\"}")).load().unwrap_err().to_string();
    assert!(message.contains("local.json:2:1") && message.contains("UTF-8"), "{message}");
}

#[test]
fn a_file_cut_anywhere_is_refused_whole_and_kept_byte_for_byte() {
    let whole =
        r#"{"server": {"port": 5000}, "worker": {"queue": {"maxDepth": 2}}, "logging": {"level": "info"}}"#;
    for length in 0..whole.len() {
        let place = Place::new(Some(&whole.as_bytes()[..length]));
        let error = place.load().unwrap_err();
        assert!(matches!(error, ConfigError::Malformed { .. }), "{length}: {error}");
        assert_eq!(std::fs::read(place.home.local_config()).unwrap(), &whole.as_bytes()[..length]);
    }
    assert!(local(whole).is_ok());
}

#[test]
fn what_is_no_json_is_named_with_line_and_column() {
    for (text, line, column) in [
        ("{} trailing", 1, 4),
        ("{\n  \"server\": {port: 1}\n}", 2, 14),
        ("{\n  'server': {}\n}", 2, 3),
        ("{\"server\": {\"port\": 0x10}}", 1, 21),
        ("{\"server\": {\"port\": NaN}}", 1, 21),
        ("{\"a\": 1\n \"b\": 2}", 1, 8),
        ("[]", 1, 1),
        ("\u{0}", 1, 1),
        ("{\"server\": {\"port\": 5000, \"port\": 5001}}", 1, 27),
    ] {
        let error = local(text).unwrap_err();
        let ConfigError::Malformed { line: found_line, column: found_column, expected, .. } = error else {
            panic!("{text}: {error}");
        };
        assert_eq!((found_line, found_column), (line, column), "{text}: {expected}");
    }
}

#[test]
fn a_file_that_cannot_be_read_names_itself() {
    let place = Place::new(None);
    std::fs::create_dir(place.home.local_config()).unwrap();
    let error = place.load().unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("local.json") && error.cure().is_some(), "{error}");
}

#[test]
fn another_file_can_be_named_and_then_has_to_be_there() {
    let place = Place::new(Some(br#"{"server":{"port":5000}}"#));
    let other = place.folder.path().join("other.json");
    let environment = Environment { config: Some(other.display().to_string()), ..Environment::default() };
    assert!(matches!(load(&place.home, &environment), Err(ConfigError::Unreadable { .. })));
    std::fs::write(&other, r#"{"server":{"port":5001}}"#).unwrap();
    let loaded = load(&place.home, &environment).unwrap();
    assert_eq!(loaded.settings.server.pinned_port, Some(5001));
    assert_eq!(loaded.file, other);
}

#[test]
fn an_unknown_key_is_reported_with_the_nearest_known_one_and_stops_nothing() {
    let text = r#"{
        "serverr": {"port": 1}, "server": {"prot": 4018, "port": 5000}, "colour": "red",
        "maxDepth": 3, "worker": {"queue": {"max_depth": 2}, "idleUnload": {"idleMS": 5}},
        "profiles": {"e2b": {"server": {"port": 1}, "model": {"sampling": {"temprature": 1}}},
                     "26b": {"worker": {"maxWaitMs": 1}}},
        "modalities": {"audio": {"transcode": {"sampleRate": 8000}}}
    }"#;
    let loaded = local(text).unwrap();
    let mut found: Vec<String> = loaded.unknown_keys.iter().map(ToString::to_string).collect();
    found.sort();
    insta::assert_snapshot!(found.join("\n"));
    assert_eq!(loaded.settings.server.pinned_port, Some(5000));
}

#[test]
fn null_says_nothing() {
    let loaded = local(r#"{"server": null, "worker": {"queue": {"maxDepth": null}}}"#).unwrap();
    assert_eq!(loaded.settings.profiles, fresh().profiles);
    assert_eq!(loaded.settings.server, fresh().server);
    assert_eq!(loaded.unknown_keys, []);
}
