//! The worker's own files by the record that its installer left: names and sizes only, which every start can afford.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The package of the worker, as versions are asked for.
pub(crate) const WORKER_PACKAGE: &str = "hangar-worker";
const FOLDER: &str = "hangar_worker/";
const NATIVE_MODULE: &str = "hangar_worker/_native.";

/// The first of the worker's files that is missing or of another size, if any.
pub(crate) fn difference(site_packages: &Path, installed: &BTreeMap<String, String>) -> Option<String> {
    let Some(version) = installed.get(WORKER_PACKAGE) else {
        return Some(format!("{WORKER_PACKAGE} is not installed"));
    };
    let record = format!("hangar_worker-{version}.dist-info/RECORD");
    let text = match fs::read_to_string(site_packages.join(&record)) {
        Ok(text) => text,
        Err(error) => return Some(format!("{record} cannot be read ({error})")),
    };
    let mut native_module_recorded = false;
    for (file, bytes) in text.lines().filter_map(recorded) {
        native_module_recorded |= file.starts_with(NATIVE_MODULE);
        match fs::metadata(site_packages.join(file)) {
            Ok(found) if found.len() == bytes => (),
            Ok(_) => return Some(format!("{file} was edited")),
            Err(error) => return Some(format!("{file} cannot be read ({error})")),
        }
    }
    (!native_module_recorded).then(|| format!("{record} names no native module"))
}

/// Name and size of one of the worker's files; compiled ones are left out, which Python makes anew as it likes.
fn recorded(line: &str) -> Option<(&str, u64)> {
    let mut parts = line.rsplitn(3, ',');
    let (bytes, _hash, file) = (parts.next()?, parts.next()?, parts.next()?);
    let ours = file.starts_with(FOLDER) && !file.contains("__pycache__");
    if ours { bytes.parse().ok().map(|bytes| (file, bytes)) } else { None }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Installs a worker of two files, with their record.
    pub(crate) fn install(site_packages: &Path) {
        let (package, metadata) =
            (site_packages.join("hangar_worker"), site_packages.join("hangar_worker-0.1.0.dist-info"));
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(&metadata).unwrap();
        fs::write(package.join("engine.py"), "engine").unwrap();
        fs::write(package.join("_native.abi3.so"), "library").unwrap();
        let lines = [
            "../../../bin/tool,sha256=x,3",
            "hangar_worker-0.1.0.dist-info/RECORD,,",
            "hangar_worker/__pycache__/engine.cpython-312.pyc,sha256=x,9",
            "hangar_worker/engine.py,sha256=x,6",
            "hangar_worker/_native.abi3.so,sha256=x,7",
        ];
        fs::write(metadata.join("RECORD"), lines.join("\n")).unwrap();
    }

    fn found(site_packages: &Path) -> Option<String> {
        difference(site_packages, &[(WORKER_PACKAGE.to_owned(), "0.1.0".to_owned())].into())
    }

    #[test]
    fn a_worker_as_recorded_does_not_differ() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path());
        assert_eq!(found(folder.path()), None);
    }

    #[test]
    fn a_missing_native_module_is_named() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path());
        fs::remove_file(folder.path().join("hangar_worker/_native.abi3.so")).unwrap();
        assert!(found(folder.path()).unwrap().starts_with("hangar_worker/_native.abi3.so cannot be read"));
    }

    #[test]
    fn a_source_of_another_size_and_a_missing_one_are_named() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path());
        let source = folder.path().join("hangar_worker/engine.py");
        fs::write(&source, "engine, edited").unwrap();
        assert_eq!(found(folder.path()).unwrap(), "hangar_worker/engine.py was edited");
        fs::remove_file(&source).unwrap();
        assert!(found(folder.path()).unwrap().starts_with("hangar_worker/engine.py cannot be read"));
    }

    #[test]
    fn a_worker_that_is_not_installed_or_has_no_record_or_no_native_module_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(difference(folder.path(), &[].into()).unwrap(), "hangar-worker is not installed");
        assert!(found(folder.path()).unwrap().contains("RECORD cannot be read"));
        install(folder.path());
        let record = folder.path().join("hangar_worker-0.1.0.dist-info/RECORD");
        fs::write(&record, "hangar_worker/engine.py,sha256=x,6\n").unwrap();
        assert!(found(folder.path()).unwrap().ends_with("names no native module"));
    }
}
