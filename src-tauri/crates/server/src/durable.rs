//! Small state files: whole or absent, never torn.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

/// Writes a value beside its place, syncs it, and renames it into place.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = write_whole(&beside, value).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The first error is the one to tell.
        drop(fs::remove_file(&beside));
    }
    written?;
    File::open(folder)?.sync_all()
}

fn write_whole(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    let mut file = File::create(path)?;
    file.write_all(&bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_replaces_the_old_one_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_json(&path, &1).unwrap();
        write_json(&path, &[2]).unwrap();
        assert_eq!(serde_json::from_slice::<Vec<u8>>(&fs::read(&path).unwrap()).unwrap(), [2]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::create_dir(&path).unwrap();
        assert!(write_json(&path, &1).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
