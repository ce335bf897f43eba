//! A lock file that lets one process at a time make a runtime.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use crate::files::at;
use crate::{ProvisionError, Step};

/// An exclusive lock, held until dropped. The file stays: removing it would let two hold "the" lock.
pub(crate) struct Lock(File);

impl Lock {
    /// Takes the lock, telling when somebody else holds it.
    pub(crate) fn take(path: &Path, progress: &mut dyn FnMut(Step)) -> Result<Self, ProvisionError> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).open(path).map_err(at("open", path))?;
        match file.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => {
                progress(Step::WaitingForOtherBuilder { lock: path.to_owned() });
                file.lock().map_err(at("lock", path))?;
            }
            Err(TryLockError::Error(error)) => return Err(at("lock", path)(error)),
        }
        Ok(Self(file))
    }

    /// Takes a lock that is there and held by nobody.
    pub(crate) fn take_if_free(path: &Path) -> Option<Self> {
        let file = OpenOptions::new().write(true).open(path).ok()?;
        file.try_lock().is_ok().then_some(Self(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child being started elsewhere may hold a copy of the descriptor: closing ours would not unlock.
        self.0.unlock().ok();
    }
}
