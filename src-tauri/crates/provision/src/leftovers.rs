//! Folders in which interrupted attempts made a runtime, beside the place it was to have.

use std::fs;
use std::path::Path;

use crate::lock::Lock;
use crate::{ProvisionError, Step, files};

const MAKING: &str = ".making-";

/// How the folders begin in which this runtime is made; the rest is new each time.
pub(crate) fn prefix(runtime: &str) -> String {
    format!(".{runtime}{MAKING}")
}

/// Removes what interrupted attempts at this runtime left; to be called with its lock held. An installer that
/// outlived its killed parent may still write into its own folder, which then does not go away at once: it
/// hinders nobody, and goes the next time.
pub(crate) fn sweep(
    folder: &Path,
    runtime: &str,
    progress: &mut dyn FnMut(Step),
) -> Result<(), ProvisionError> {
    let prefix = prefix(runtime);
    for path in files::entries(folder)? {
        if name(&path).starts_with(&prefix) {
            progress(Step::RemovingUnfinished { path: path.clone() });
            fs::remove_dir_all(&path).ok();
        }
    }
    Ok(())
}

/// Removes what interrupted attempts at any runtime in a folder left, except where one is being made: whoever
/// makes it holds its lock, and a killed process holds none.
pub(crate) fn sweep_abandoned(folder: &Path, progress: &mut dyn FnMut(Step)) -> Result<(), ProvisionError> {
    let mut runtimes: Vec<String> =
        files::entries(folder)?.iter().filter_map(|path| runtime_of(&name(path))).collect();
    runtimes.dedup();
    for runtime in runtimes {
        if let Some(_lock) = Lock::take_if_free(&lock_file(folder, &runtime)) {
            sweep(folder, &runtime, progress)?;
        }
    }
    Ok(())
}

/// The lock of a runtime, beside it.
pub(crate) fn lock_file(folder: &Path, runtime: &str) -> std::path::PathBuf {
    folder.join(format!("{runtime}.lock"))
}

/// The runtime that was to be made in a folder of this name.
fn runtime_of(name: &str) -> Option<String> {
    let (runtime, _) = name.strip_prefix('.')?.split_once(MAKING)?;
    Some(runtime.to_owned())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
