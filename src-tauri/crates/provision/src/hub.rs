//! A published model in the Hugging Face cache: found, never fetched and never changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hangar_config::RepositoryId;
use serde::Deserialize;

/// Files without which no model of ours loads.
const NEEDED: [&str; 2] = ["config.json", "tokenizer.json"];
const WEIGHTS_INDEX: &str = "model.safetensors.index.json";

/// The cache that Python's hub client and others share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubCache {
    root: PathBuf,
}

/// What the cache holds of a repository, at the commit its `main` last pointed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Snapshot {
    /// All of it.
    Found(PathBuf),
    /// Some files are not there, or not whole.
    Partial {
        /// The repository's folder in the cache.
        folder: PathBuf,
        /// Names of what is missing, never none.
        missing: Vec<String>,
    },
    /// Nothing.
    Missing {
        /// Where its folder would be.
        looked_in: PathBuf,
    },
}

impl HubCache {
    /// Names the folder as the hub's own client does: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else
    /// `huggingface/hub` in the user's cache. None where not even a home folder is known.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let home = set("HOME").map(PathBuf::from);
        let folder = |text: String| match (text.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        let named = set("HF_HUB_CACHE").or_else(|| set("HUGGINGFACE_HUB_CACHE")).map(folder);
        let in_home = || set("HF_HOME").map(folder).map(|home| home.join("hub"));
        let in_cache = || {
            let cache = set("XDG_CACHE_HOME").map(folder);
            let cache = cache.or_else(|| home.as_ref().map(|home| home.join(".cache")));
            cache.map(|cache| cache.join("huggingface/hub"))
        };
        named.or_else(in_home).or_else(in_cache).map(|root| Self { root })
    }

    /// Looks for a repository. Only names and an index are read, no weights.
    pub fn find(&self, repository: &RepositoryId) -> Snapshot {
        let folder = self.root.join(format!("models--{}", repository.as_str().replace('/', "--")));
        if !folder.is_dir() {
            return Snapshot::Missing { looked_in: folder };
        }
        let Some(snapshot) = current_snapshot(&folder) else {
            return Snapshot::Partial { folder, missing: vec!["refs/main".to_owned()] };
        };
        let missing = missing_files(&snapshot);
        if missing.is_empty() {
            Snapshot::Found(snapshot)
        } else {
            Snapshot::Partial { folder, missing: missing.into_iter().collect() }
        }
    }
}

impl Snapshot {
    /// What is wrong and what a person can do; nothing where all is there.
    pub fn trouble(&self, repository: &RepositoryId) -> Option<String> {
        let cure = format!("run `hf download {repository}`, or set model.path to a folder that has it");
        match self {
            Self::Found(_) => None,
            Self::Partial { missing, .. } => {
                let first = missing.first().map_or("", String::as_str);
                let others = match missing.len() {
                    0 | 1 => String::new(),
                    several => format!(" and {} more", several - 1),
                };
                Some(format!("{repository} is not whole in the Hugging Face cache ({first}{others}): {cure}"))
            }
            Self::Missing { looked_in } => {
                Some(format!("{repository} is not at {}: {cure}", looked_in.display()))
            }
        }
    }
}

/// The folder of the commit that `main` last pointed to.
fn current_snapshot(folder: &Path) -> Option<PathBuf> {
    let commit = fs::read_to_string(folder.join("refs/main")).ok()?;
    let commit = commit.trim();
    // A name, never a way out of the cache.
    let plain = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
    plain.then(|| folder.join("snapshots").join(commit))
}

fn missing_files(snapshot: &Path) -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: std::collections::BTreeMap<String, String>,
    }
    // Following links: one whose blob is gone, or still being fetched, leads nowhere.
    let is_there =
        |name: &str| fs::metadata(snapshot.join(name)).is_ok_and(|known| known.is_file() && known.len() > 0);
    let mut missing: BTreeSet<String> =
        NEEDED.into_iter().filter(|name| !is_there(name)).map(str::to_owned).collect();
    let names: Vec<String> = fs::read_dir(snapshot)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    missing.extend(names.iter().filter(|name| fs::metadata(snapshot.join(name)).is_err()).cloned());
    let has_index = names.iter().any(|name| name == WEIGHTS_INDEX);
    match fs::read(snapshot.join(WEIGHTS_INDEX)) {
        Ok(bytes) => match serde_json::from_slice::<Index>(&bytes) {
            Ok(index) => missing.extend(index.weight_map.into_values().filter(|name| !is_there(name))),
            Err(_) => drop(missing.insert(WEIGHTS_INDEX.to_owned())),
        },
        Err(_) if has_index => drop(missing.insert(WEIGHTS_INDEX.to_owned())),
        Err(_) if names.iter().any(|name| name.ends_with(".safetensors")) => {}
        Err(_) => drop(missing.insert("model.safetensors".to_owned())),
    }
    missing
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn repository() -> RepositoryId {
        RepositoryId::read("someone/a-model").unwrap()
    }

    /// A cache with one whole model in two pieces, laid out as the hub's client does.
    fn cache() -> (tempfile::TempDir, HubCache, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("models--someone--a-model");
        let snapshot = folder.join("snapshots").join(COMMIT);
        for made in [&snapshot, &folder.join("blobs"), &folder.join("refs")] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(folder.join("refs/main"), COMMIT).unwrap();
        let index =
            r#"{"metadata": {}, "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
        for (at, (name, text)) in [
            ("config.json", "{}"),
            ("tokenizer.json", "{}"),
            (WEIGHTS_INDEX, index),
            ("model-1.safetensors", "one"),
            ("model-2.safetensors", "two"),
        ]
        .into_iter()
        .enumerate()
        {
            fs::write(folder.join(format!("blobs/{at}")), text).unwrap();
            symlink(format!("../../blobs/{at}"), snapshot.join(name)).unwrap();
        }
        let cache = HubCache { root: root.path().to_owned() };
        (root, cache, folder)
    }

    fn missing(cache: &HubCache) -> Vec<String> {
        let found = cache.find(&repository());
        let Snapshot::Partial { missing, .. } = found else { panic!("{found:?}") };
        missing
    }

    #[test]
    fn a_whole_model_is_found_at_the_commit_of_main() {
        let (_root, cache, folder) = cache();
        let found = cache.find(&repository());
        assert_eq!(found, Snapshot::Found(folder.join("snapshots").join(COMMIT)));
        assert_eq!(found.trouble(&repository()), None);
    }

    #[test]
    fn a_model_in_one_piece_needs_no_index() {
        let (_root, cache, folder) = cache();
        let snapshot = folder.join("snapshots").join(COMMIT);
        fs::remove_file(snapshot.join(WEIGHTS_INDEX)).unwrap();
        assert!(matches!(cache.find(&repository()), Snapshot::Found(_)));
        for piece in ["model-1.safetensors", "model-2.safetensors"] {
            fs::remove_file(snapshot.join(piece)).unwrap();
        }
        assert_eq!(missing(&cache), ["model.safetensors"]);
    }

    #[test]
    fn what_is_missing_is_named_and_so_is_the_cure() {
        let (_root, cache, folder) = cache();
        let snapshot = folder.join("snapshots").join(COMMIT);
        fs::remove_file(snapshot.join("model-2.safetensors")).unwrap();
        fs::remove_file(snapshot.join("tokenizer.json")).unwrap();
        assert_eq!(missing(&cache), ["model-2.safetensors", "tokenizer.json"]);
        let trouble = cache.find(&repository()).trouble(&repository()).unwrap();
        assert_eq!(
            trouble,
            "someone/a-model is not whole in the Hugging Face cache (model-2.safetensors and 1 more): \
             run `hf download someone/a-model`, or set model.path to a folder that has it"
        );
    }

    #[test]
    fn a_link_into_nothing_and_an_empty_file_are_no_files() {
        let (_root, cache, folder) = cache();
        fs::remove_file(folder.join("blobs/3")).unwrap();
        fs::write(folder.join("blobs/4"), "").unwrap();
        assert_eq!(missing(&cache), ["model-1.safetensors", "model-2.safetensors"]);
    }

    #[test]
    fn an_index_that_is_damaged_is_itself_missing() {
        let (_root, cache, folder) = cache();
        fs::write(folder.join("blobs/2"), "{\"weight_map\": {").unwrap();
        assert_eq!(missing(&cache), [WEIGHTS_INDEX]);
    }

    #[test]
    fn a_download_that_never_ended_is_partial_and_main_leads_nowhere_else() {
        let (root, cache, folder) = cache();
        for text in ["", "../../../other", "a/b", "feedface"] {
            fs::write(folder.join("refs/main"), text).unwrap();
            assert!(!missing(&cache).is_empty(), "{text}");
        }
        fs::remove_file(folder.join("refs/main")).unwrap();
        assert_eq!(missing(&cache), ["refs/main"]);
        drop(root);
        let trouble = cache.find(&repository()).trouble(&repository()).unwrap();
        assert!(trouble.contains("models--someone--a-model") && trouble.contains("hf download"), "{trouble}");
    }

    #[test]
    fn the_cache_is_where_the_hub_s_own_client_has_it() {
        let root = |pairs: &[(&str, &str)]| {
            let found = HubCache::from_environment(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            });
            found.map(|cache| cache.root.display().to_string())
        };
        let home = ("HOME", "/home/ada");
        assert_eq!(root(&[home]).unwrap(), "/home/ada/.cache/huggingface/hub");
        assert_eq!(root(&[home, ("XDG_CACHE_HOME", "/c")]).unwrap(), "/c/huggingface/hub");
        assert_eq!(root(&[home, ("HF_HOME", "~/hf")]).unwrap(), "/home/ada/hf/hub");
        assert_eq!(root(&[home, ("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/hub")]).unwrap(), "/hub");
        assert_eq!(root(&[home, ("HF_HUB_CACHE", "")]).unwrap(), "/home/ada/.cache/huggingface/hub");
        assert_eq!(root(&[]), None);
    }
}
