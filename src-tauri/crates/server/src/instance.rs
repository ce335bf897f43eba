//! One server a state folder: the lock is the truth, the file beside it only a hint.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use hangar_config::Home;
use serde::{Deserialize, Serialize};

use crate::durable;

/// Tries at a lock that is only being looked at.
const TRIES: u32 = 10;
const TRY_EVERY: Duration = Duration::from_millis(20);

/// Who serves a state folder, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceHint {
    /// Process id.
    pub pid: u32,
    /// Unix seconds.
    pub started_at: u64,
    /// The port.
    pub port: u16,
    /// The address to open.
    pub url: String,
    /// Version of the program.
    pub version: String,
}

/// Why a state folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Another server has it.
    #[error("{} is already served{}", home.display(), by(hint.as_ref()))]
    Held {
        /// The state folder.
        home: PathBuf,
        /// Who has it, if that is known.
        hint: Option<InstanceHint>,
    },
    /// The lock or the hint cannot be written.
    #[error("{} cannot be used: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a look at a state folder found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inspection {
    /// Nobody serves it.
    Free,
    /// Somebody serves it; without a hint it has only just begun, or is about to end.
    Served(Option<InstanceHint>),
}

/// The lock on a state folder, held for a server's life.
#[derive(Debug)]
pub struct Instance {
    home: Home,
    file: Option<File>,
}

impl Instance {
    /// Takes the lock. What an earlier server left behind is removed, so that its hint is not taken for ours.
    ///
    /// # Errors
    /// [`InstanceError::Held`] names who has it.
    pub async fn acquire(home: &Home) -> Result<Self, InstanceError> {
        let path = home.instance_lock();
        let unusable = |source| InstanceError::Unusable { path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => {
                    let instance = Self { home: home.clone(), file: Some(file) };
                    instance.remove_hint()?;
                    return Ok(instance);
                }
                Err(TryLockError::WouldBlock) => tokio::time::sleep(TRY_EVERY).await,
                Err(TryLockError::Error(source)) => return Err(unusable(source)),
            }
        }
        Err(InstanceError::Held { home: home.root().to_owned(), hint: read_hint(home) })
    }

    /// Tells others where this server listens.
    ///
    /// # Errors
    /// [`InstanceError::Unusable`] when the file cannot be written.
    pub fn publish(&self, hint: &InstanceHint) -> Result<(), InstanceError> {
        let path = self.home.instance_hint();
        durable::write_json(&path, hint).map_err(|source| InstanceError::Unusable { path, source })
    }

    /// Removes the hint and gives the lock back.
    ///
    /// # Errors
    /// [`InstanceError::Unusable`] when the hint cannot be removed; the lock is given back all the same.
    pub fn release(mut self) -> Result<(), InstanceError> {
        let removed = self.remove_hint();
        self.unlock();
        removed
    }

    fn remove_hint(&self) -> Result<(), InstanceError> {
        let path = self.home.instance_hint();
        match fs::remove_file(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) => Err(InstanceError::Unusable { path, source }),
        }
    }

    /// Unlocks by name: a child that is being spawned holds a copy of the descriptor for a moment.
    fn unlock(&mut self) {
        if let Some(file) = self.file.take()
            && let Err(error) = file.unlock()
        {
            tracing::warn!(%error, "the instance lock could not be given back");
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// Looks whether a state folder is served, without disturbing who serves it.
///
/// # Errors
/// [`InstanceError::Unusable`] when the lock cannot be looked at.
pub fn inspect(home: &Home) -> Result<Inspection, InstanceError> {
    let path = home.instance_lock();
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Inspection::Free),
        Err(source) => return Err(InstanceError::Unusable { path, source }),
    };
    match file.try_lock_shared() {
        Ok(()) => {
            file.unlock().map_err(|source| InstanceError::Unusable { path, source })?;
            Ok(Inspection::Free)
        }
        Err(TryLockError::WouldBlock) => Ok(Inspection::Served(read_hint(home))),
        Err(TryLockError::Error(source)) => Err(InstanceError::Unusable { path, source }),
    }
}

/// The hint in a state folder, whoever wrote it; nothing when there is none or it cannot be read.
pub(crate) fn read_hint(home: &Home) -> Option<InstanceHint> {
    serde_json::from_slice(&fs::read(home.instance_hint()).ok()?).ok()
}

fn by(hint: Option<&InstanceHint>) -> String {
    hint.map_or_else(String::new, |hint| format!(" by process {} at {}", hint.pid, hint.url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &tempfile::TempDir) -> Home {
        let root = folder.path().display().to_string();
        let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap();
        home.prepare().unwrap();
        home
    }

    fn hint() -> InstanceHint {
        InstanceHint {
            pid: 4711,
            started_at: 1,
            port: 4017,
            url: "http://127.0.0.1:4017".into(),
            version: "0.1.0".into(),
        }
    }

    #[tokio::test]
    async fn a_second_server_on_one_folder_is_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        let first = Instance::acquire(&home).await.unwrap();
        first.publish(&hint()).unwrap();
        let message = Instance::acquire(&home).await.unwrap_err().to_string();
        assert!(message.contains("4711") && message.contains("http://127.0.0.1:4017"), "{message}");
        assert_eq!(inspect(&home).unwrap(), Inspection::Served(Some(hint())));
        first.release().unwrap();
        assert_eq!(inspect(&home).unwrap(), Inspection::Free);
        assert!(!home.instance_hint().exists());
        Instance::acquire(&home).await.unwrap();
    }

    #[tokio::test]
    async fn the_hint_of_a_killed_server_is_never_taken_for_a_living_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        durable::write_json(&home.instance_hint(), &hint()).unwrap();
        assert_eq!(inspect(&home).unwrap(), Inspection::Free);
        let _instance = Instance::acquire(&home).await.unwrap();
        assert_eq!(inspect(&home).unwrap(), Inspection::Served(None));
    }

    #[tokio::test]
    async fn a_short_look_by_somebody_else_does_not_stop_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(&folder);
        drop(Instance::acquire(&home).await.unwrap());
        let looking = File::open(home.instance_lock()).unwrap();
        looking.lock_shared().unwrap();
        let end_of_look = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            looking.unlock().unwrap();
        };
        let (acquired, ()) = tokio::join!(Instance::acquire(&home), end_of_look);
        acquired.unwrap();
    }

    #[test]
    fn a_folder_that_was_never_served_is_free() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(inspect(&home(&folder)).unwrap(), Inspection::Free);
    }
}
