//! HANGAR_HOME: the one folder that holds everything the service writes.

use std::path::{Path, PathBuf};

/// The state folder and the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why no state folder can be named or used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Neither HANGAR_HOME nor HOME is set.
    #[error("no state folder: set HANGAR_HOME to a folder that can be written")]
    Unknown,
    /// The folder cannot be made or written.
    #[error("state folder {folder} cannot be written ({source}): set HANGAR_HOME to a folder that can be")]
    Unwritable {
        /// The folder.
        folder: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Home {
    /// Names the folder from the environment: `HANGAR_HOME`, else the platform's data folder.
    ///
    /// # Errors
    /// [`HomeError::Unknown`] when the environment names no folder.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HomeError> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if let Some(root) = set("HANGAR_HOME") {
            return std::path::absolute(&root)
                .map(|root| Self { root })
                .map_err(|source| HomeError::Unwritable { folder: root, source });
        }
        let user = set("HOME").map(PathBuf::from);
        let root = if cfg!(target_os = "macos") {
            user.map(|user| user.join("Library/Application Support/Hangar"))
        } else {
            set("XDG_DATA_HOME")
                .map(PathBuf::from)
                .or_else(|| user.map(|user| user.join(".local/share")))
                .map(|data| data.join("hangar"))
        };
        root.map(|root| Self { root }).ok_or(HomeError::Unknown)
    }

    /// Makes the folder and proves that it can be written.
    ///
    /// # Errors
    /// [`HomeError::Unwritable`] with what the system said.
    pub fn prepare(&self) -> Result<(), HomeError> {
        let refused = |source| HomeError::Unwritable { folder: self.root.display().to_string(), source };
        std::fs::create_dir_all(&self.root).map_err(refused)?;
        std::fs::create_dir_all(self.logs_dir()).map_err(refused)?;
        let trial = self.root.join(format!(".write-trial-{}", std::process::id()));
        std::fs::write(&trial, b"").map_err(refused)?;
        std::fs::remove_file(&trial).map_err(refused)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The user's own configuration.
    pub fn local_config(&self) -> PathBuf {
        self.root.join("local.json")
    }

    /// Held exclusively for the life of the one server of this folder.
    pub fn instance_lock(&self) -> PathBuf {
        self.root.join("instance.lock")
    }

    /// Says who holds the lock and where it listens; only a hint, the lock is the truth.
    pub fn instance_hint(&self) -> PathBuf {
        self.root.join("instance.json")
    }

    /// Remembers the port last used when none is pinned.
    pub fn port_memory(&self) -> PathBuf {
        self.root.join("port.json")
    }

    /// The table of memory shared with other services, unless another folder is configured.
    pub fn governor_dir(&self) -> PathBuf {
        self.root.join("governor")
    }

    /// Log files.
    pub fn logs_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// What the app's web view keeps.
    pub fn webview_dir(&self) -> PathBuf {
        self.root.join("webview")
    }

    /// Python runtimes, one folder a key.
    pub fn runtimes_dir(&self) -> PathBuf {
        self.root.join("runtimes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(pairs: &[(&str, &str)]) -> Result<Home, HomeError> {
        Home::from_environment(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn hangar_home_wins_over_everything() {
        let found = home(&[("HANGAR_HOME", "/tmp/here"), ("HOME", "/root"), ("XDG_DATA_HOME", "/x")]);
        assert_eq!(found.unwrap().root(), Path::new("/tmp/here"));
    }

    #[test]
    fn a_relative_home_becomes_absolute() {
        assert!(home(&[("HANGAR_HOME", "here")]).unwrap().root().is_absolute());
    }

    #[test]
    fn no_home_at_all_is_a_typed_error() {
        assert!(matches!(home(&[("HANGAR_HOME", "")]), Err(HomeError::Unknown)));
    }

    #[test]
    fn a_folder_that_cannot_be_made_names_the_folder_and_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let home = home(&[("HANGAR_HOME", file.join("home").to_str().unwrap())]).unwrap();
        let message = home.prepare().unwrap_err().to_string();
        assert!(message.contains("HANGAR_HOME") && message.contains("file/home"), "{message}");
    }
}
