//! What a model's own files tell about it before it is loaded.

use std::path::Path;

use serde::Deserialize;

/// Traits of a model that decide how it is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelTraits {
    /// Whether it has embeddings of their own for each layer, as the small models of the family do and the large
    /// ones do not.
    pub has_layer_embeddings: Option<bool>,
}

impl ModelTraits {
    /// Reads them from the model's `config.json`; what cannot be read is unknown, and the worker's load names it.
    pub fn read(model_dir: &Path) -> Self {
        let text = std::fs::read(model_dir.join("config.json")).unwrap_or_default();
        let config: Config = serde_json::from_slice(&text).unwrap_or_default();
        Self {
            has_layer_embeddings: config
                .text_config
                .map(|text| text.hidden_size_per_layer_input.is_some_and(|size| size > 0)),
        }
    }
}

#[derive(Default, Deserialize)]
struct Config {
    text_config: Option<Text>,
}

#[derive(Deserialize)]
struct Text {
    hidden_size_per_layer_input: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_models_have_layer_embeddings_and_large_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let read = |config: &str| {
            std::fs::write(folder.path().join("config.json"), config).unwrap();
            ModelTraits::read(folder.path()).has_layer_embeddings
        };
        assert_eq!(read(r#"{"text_config":{"hidden_size_per_layer_input":256}}"#), Some(true));
        assert_eq!(read(r#"{"text_config":{"hidden_size_per_layer_input":0}}"#), Some(false));
        assert_eq!(read(r#"{"text_config":{"hidden_size_per_layer_input":null}}"#), Some(false));
        assert_eq!(read(r#"{"text_config":{}}"#), Some(false));
        assert_eq!(read("{}"), None);
        assert_eq!(read("["), None);
    }
}
