//! Media of a request: how they may be written, and what becomes of those that are not taken.

use super::*;

const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";
const WAV: &str = "UklGRgAAAABXQVZF";

fn asked(offer: &Offer, parts: Value) -> Result<ChatRequest, ApiError> {
    read(&json!({"messages": [{"role": "user", "content": parts}]}), offer)
}

fn changed(change: impl FnOnce(&mut hangar_config::Profile)) -> Offer {
    let mut profile = hangar_config::Profile::clone(&offer().profile);
    change(&mut profile);
    Offer::new(Arc::new(profile), Towers { image: true, audio: true })
}

fn at(status: u16, kind: &'static str, field: &str) -> (u16, &'static str, Option<String>) {
    (status, kind, Some(format!("messages[0].content[0]{field}")))
}

#[test]
fn pictures_and_sound_are_read_in_every_form_clients_have() {
    let wav = format!("data:audio/wav;base64,{WAV}");
    for part in [
        json!({"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}),
        json!({"type": "image_url", "image_url": PNG}),
        json!({"type": "input_image", "image_url": PNG}),
        json!({"type": "image", "data_url": PNG}),
        json!({"type": "image", "url": PNG}),
        json!({"type": "image_url", "image_url": {"url": PNG.to_ascii_uppercase().replace("IVBORW0KGGO=", "iVBORw0KGgo=")}}),
    ] {
        let request = asked(&offer(), json!([part, {"type": "text", "text": "look"}])).unwrap();
        assert_eq!(request.messages[0].parts(), [Part::Image(0), text("look")]);
        assert_eq!(request.media.len(), 1);
    }
    for part in [
        json!({"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}),
        json!({"type": "input_audio", "input_audio": {"data": WAV}}),
        json!({"type": "input_audio", "input_audio": {"data": WAV, "format": "mp3"}}),
        json!({"type": "input_audio", "input_audio": {"data": wav, "format": "wav"}}),
        json!({"type": "audio_url", "audio_url": {"url": wav}}),
        json!({"type": "audio_url", "audio_url": wav}),
        json!({"type": "audio", "audio": {"data": WAV, "format": "wav"}}),
        json!({"type": "audio", "data_url": wav}),
    ] {
        let request = asked(&offer(), json!([part])).unwrap();
        assert_eq!(request.messages[0].parts(), [Part::Audio(0)], "{part}");
        assert_eq!(request.media[0].kind, hangar_media::MediaKind::Wav);
    }
}

#[test]
fn addresses_and_paths_are_refused_without_being_looked_at() {
    for url in [
        "http://127.0.0.1:9/a.png",
        "https://127.0.0.1:9/b",
        "file:///etc/hostname",
        "/etc/hostname",
        "../../etc/passwd",
    ] {
        let part = json!({"type": "image_url", "image_url": {"url": url}});
        let result = asked(&offer(), json!([part]));
        assert!(!format!("{result:?}").contains(url));
        assert_eq!(refused(result), at(400, "bad_request", ".image_url.url"), "{url}");
        let part = json!({"type": "audio_url", "audio_url": url});
        assert_eq!(refused(asked(&offer(), json!([part]))), at(400, "bad_request", ".audio_url"), "{url}");
        let part = json!({"type": "input_audio", "input_audio": {"data": url, "format": "wav"}});
        let refusal = refused(asked(&offer(), json!([part])));
        assert_eq!(refusal, at(400, "bad_request", ".input_audio.data"), "{url}");
    }
}

#[test]
fn what_is_no_medium_is_refused_by_its_field() {
    for (part, field) in [
        (json!({"type": "image_url"}), ".image_url"),
        (json!({"type": "image_url", "image_url": {}}), ".image_url.url"),
        (json!({"type": "image_url", "image_url": {"url": 7}}), ".image_url.url"),
        (json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}), ".image_url.url"),
        (json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,!!!!"}}), ".image_url.url"),
        (json!({"type": "input_audio"}), ".input_audio"),
        (json!({"type": "input_audio", "input_audio": {}}), ".input_audio.data"),
        (json!({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}), ".input_audio.data"),
        (json!({"type": "input_audio", "input_audio": {"data": WAV, "format": 3}}), ".input_audio.format"),
    ] {
        assert_eq!(refused(asked(&offer(), json!([part]))), at(400, "bad_request", field), "{part}");
    }
    let html = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,PGh0bWw+"}});
    assert_eq!(refused(asked(&offer(), json!([html]))), at(400, "invalid_image", ".image_url.url"));
    let pdf = json!({"type": "input_audio", "input_audio": {"data": "JVBERi0xLjQK", "format": "wav"}});
    assert_eq!(refused(asked(&offer(), json!([pdf]))), at(400, "invalid_audio", ".input_audio.data"));
}

#[test]
fn the_bytes_decide_which_type_it_is_and_the_list_whether_it_comes_in() {
    let gif = json!({"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlh"}});
    let svg = json!({"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2Zz4="}});
    for part in [gif, svg] {
        assert_eq!(
            refused(asked(&offer(), json!([part]))),
            at(415, "unsupported_media_type", ".image_url.url")
        );
    }
    let flac = json!({"type": "input_audio", "input_audio": {"data": "ZkxhQwAA", "format": "wav"}});
    let refusal = refused(asked(&offer(), json!([flac])));
    assert_eq!(refusal, at(415, "unsupported_media_type", ".input_audio.data"));
    let allowing = changed(|profile| profile.modalities.audio.allowed_mime_types.push("audio/flac".into()));
    assert!(asked(&allowing, json!([flac])).is_ok());
    let wav_only = changed(|profile| profile.modalities.transcode.enabled = false);
    let mp3 = json!({"type": "input_audio", "input_audio": {"data": "SUQzBAAA", "format": "mp3"}});
    assert!(asked(&offer(), json!([mp3])).is_ok());
    let refusal = refused(asked(&wav_only, json!([mp3])));
    assert_eq!(refusal, at(415, "unsupported_media_type", ".input_audio.data"));
    let png = json!({"type": "input_audio", "input_audio": {"data": "iVBORw0KGgo=", "format": "wav"}});
    let refusal = refused(asked(&offer(), json!([png])));
    assert_eq!(refusal, at(415, "unsupported_media_type", ".input_audio.data"));
}

#[test]
fn limits_of_number_and_size_are_met_exactly() {
    let limited = changed(|profile| {
        profile.modalities.image.max_inputs = Some(2);
        profile.modalities.image.max_bytes = Some(8);
    });
    let picture = json!({"type": "image_url", "image_url": {"url": PNG}});
    let audio = json!({"type": "audio", "audio": {"data": WAV}});
    assert!(asked(&limited, json!([picture, audio, picture, audio])).is_ok());
    let result = asked(&limited, json!([picture, picture, picture]));
    assert!(format!("{result:?}").contains("may hold 2"), "{result:?}");
    assert_eq!(refused(result), (400, "bad_request", Some("messages[0].content[2].image_url.url".into())));
    let large = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoA"}});
    let result = asked(&limited, json!([large]));
    assert!(format!("{result:?}").contains("found_bytes: 9, limit_bytes: 8"), "{result:?}");
    let many: Vec<Value> = std::iter::repeat_n(picture, 200).collect();
    assert_eq!(refused(asked(&offer(), json!(many))).1, "bad_request");
}

#[test]
fn kinds_that_are_not_taken_are_refused_or_left_out_as_configured() {
    let parts = json!([
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "text", "text": "look"},
        {"type": "input_audio", "input_audio": {"data": WAV}},
        {"type": "video_url", "video_url": {"url": "x"}},
    ]);
    let deaf = Offer::new(Arc::clone(&offer().profile), Towers { image: true, audio: false });
    let field = Some("messages[0].content[2]".to_owned());
    assert_eq!(refused(asked(&deaf, parts.clone())), (422, "unsupported_modality", field));
    let blind = changed(|profile| profile.modalities.image.enabled = false);
    assert_eq!(refused(asked(&blind, parts.clone())), at(422, "unsupported_modality", ""));
    let lenient = changed(|profile| {
        profile.modalities.image.enabled = false;
        profile.modalities.strict_capability_check = false;
    });
    let request = asked(&lenient, parts).unwrap();
    let expected = [text("[image omitted]"), text("look"), Part::Audio(0), text("[video omitted]")];
    assert_eq!(request.messages[0].parts(), expected);
    assert_eq!((request.omitted_parts, request.media.len()), (2, 1));
}
