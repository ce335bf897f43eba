//! Files read, hashed and replaced whole, with errors that name them.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::ProvisionError;

/// An error of the file system, with what was attempted.
pub(crate) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProvisionError {
    let path = path.to_owned();
    move |source| ProvisionError::File { action, path, source }
}

/// A whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ProvisionError> {
    fs::read(path).map_err(at("read", path))
}

/// A JSON file, its errors naming the path of the value that is wrong.
pub(crate) fn read_json<Value: serde::de::DeserializeOwned>(path: &Path) -> Result<Value, ProvisionError> {
    let bytes = read(path)?;
    let mut parser = serde_json::Deserializer::from_slice(&bytes);
    let invalid = |json_path: String, error: &serde_json::Error| ProvisionError::DataInvalid {
        file: path.to_owned(),
        json_path,
        what: error.to_string(),
    };
    let value = serde_path_to_error::deserialize(&mut parser)
        .map_err(|error| invalid(error.path().to_string(), error.inner()))?;
    parser.end().map_err(|error| invalid(".".into(), &error))?;
    Ok(value)
}

/// The SHA-256 of bytes in hex.
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The SHA-256 of a file in hex, and its size.
pub(crate) fn sha256_of_file(path: &Path) -> io::Result<(String, u64)> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((hex::encode(hash.finalize()), bytes));
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
}

/// Replaces a file whole: written beside, forced to disk, renamed over. A hard link's other names keep
/// the old content. The old file's permissions are kept.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), ProvisionError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(at("write", path))?;
    beside.write_all(content).map_err(at("write", path))?;
    let permissions = fs::metadata(path).map_or_else(|_| readable(), |known| known.permissions());
    beside.as_file().set_permissions(permissions).map_err(at("write", path))?;
    beside.as_file().sync_all().map_err(at("write", path))?;
    beside.persist(path).map_err(|error| at("write", path)(error.error))?;
    sync_folder(folder)
}

/// Forces a folder's names to disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ProvisionError> {
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(at("write", folder))
}

/// Whether a path stays below the folder it will be joined to.
pub(crate) fn is_confined(path: &Path) -> bool {
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Whether this is a file that may be run.
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|known| known.is_file() && known.permissions().mode() & 0o111 != 0)
}

/// The entries of a folder, sorted; none where there is no folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ProvisionError> {
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at("list", folder)(error)),
    };
    let mut paths = listing
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(at("list", folder))?;
    paths.sort();
    Ok(paths)
}

fn readable() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_a_hard_linked_file_leaves_its_other_name_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let (cached, installed) = (folder.path().join("cached"), folder.path().join("installed"));
        fs::write(&cached, "old").unwrap();
        fs::hard_link(&cached, &installed).unwrap();
        replace(&installed, b"new").unwrap();
        assert_eq!(fs::read_to_string(&cached).unwrap(), "old");
        assert_eq!(fs::read_to_string(&installed).unwrap(), "new");
    }

    #[test]
    fn a_path_that_leaves_its_folder_is_not_confined() {
        for (path, confined) in
            [("a/b.py", true), ("../a", false), ("/a", false), ("a/../../b", false), ("", false)]
        {
            assert_eq!(is_confined(Path::new(path)), confined, "{path}");
        }
    }

    #[test]
    fn the_hash_of_a_file_equals_the_hash_of_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = vec![7; 600_000];
        fs::write(folder.path().join("file"), &bytes).unwrap();
        let found = sha256_of_file(&folder.path().join("file")).unwrap();
        assert_eq!(found, (sha256_of(&bytes), 600_000));
    }
}
