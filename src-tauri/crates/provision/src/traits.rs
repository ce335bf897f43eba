//! What a model's own files tell about it before it is loaded.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Traits of a model that decide how it is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelTraits {
    /// Whether it has embeddings of their own for each layer, as the small models of the family do and the large
    /// ones do not.
    pub has_layer_embeddings: bool,
    /// Whether it has a tower for pictures.
    pub sees: bool,
    /// Whether it has a tower for sound.
    pub hears: bool,
}

impl ModelTraits {
    /// Reads them from the model's `config.json`; none where that cannot be read, which the worker's load names.
    pub fn read(model_dir: &Path) -> Option<Self> {
        let text = std::fs::read(model_dir.join("config.json")).ok()?;
        let config: Config = serde_json::from_slice(&text).ok()?;
        let size = config.text_config?.hidden_size_per_layer_input;
        Some(Self {
            has_layer_embeddings: size.is_some_and(|size| size > 0),
            sees: config.vision_config.is_some(),
            hears: config.audio_config.is_some(),
        })
    }
}

#[derive(Deserialize)]
struct Config {
    text_config: Option<Text>,
    vision_config: Option<IgnoredAny>,
    audio_config: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Text {
    hidden_size_per_layer_input: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str) -> Option<ModelTraits> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.json"), config).unwrap();
        ModelTraits::read(folder.path())
    }

    #[test]
    fn small_models_have_layer_embeddings_and_large_ones_do_not() {
        for (text, has) in [
            (r#"{"hidden_size_per_layer_input":256}"#, true),
            (r#"{"hidden_size_per_layer_input":0}"#, false),
            (r#"{"hidden_size_per_layer_input":null}"#, false),
            ("{}", false),
        ] {
            let traits = read(&format!(r#"{{"text_config":{text}}}"#)).unwrap();
            assert_eq!(traits.has_layer_embeddings, has, "{text}");
        }
    }

    #[test]
    fn a_tower_that_is_null_is_none() {
        let traits = read(r#"{"text_config":{},"vision_config":{"a":1},"audio_config":null}"#).unwrap();
        assert_eq!((traits.sees, traits.hears), (true, false));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        assert_eq!(read("{}"), None);
        assert_eq!(read("["), None);
        assert_eq!(ModelTraits::read(Path::new("/nowhere")), None);
    }
}
