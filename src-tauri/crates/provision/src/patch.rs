//! Patching installed files: the right file before, the right file after, or nothing.

use std::fs;
use std::path::Path;

use crate::files::{self, at};
use crate::{PatchedFile, ProvisionError};

/// Applies one patch below site-packages and drops what was compiled from the old file.
pub(crate) fn apply(
    site_packages: &Path,
    patches_dir: &Path,
    patched: &PatchedFile,
) -> Result<(), ProvisionError> {
    let file = site_packages.join(&patched.path);
    let refused = |what: String| ProvisionError::PatchRefused { file: file.clone(), what };
    let content = files::read(&file)?;
    let found = files::sha256_of(&content);
    if found != patched.after_sha256 {
        if found != patched.before_sha256 {
            return Err(refused(format!("its sha256 is {found}, not {}", patched.before_sha256)));
        }
        let diff_file = patches_dir.join(&patched.patch);
        let diff_bytes = files::read(&diff_file)?;
        let diff = diffy::Patch::from_bytes(&diff_bytes).map_err(|error| ProvisionError::DataInvalid {
            file: diff_file,
            json_path: ".".into(),
            what: error.to_string(),
        })?;
        let changed = diffy::apply_bytes(&content, &diff).map_err(|error| refused(error.to_string()))?;
        let became = files::sha256_of(&changed);
        if became != patched.after_sha256 {
            return Err(refused(format!("patched, its sha256 is {became}, not {}", patched.after_sha256)));
        }
        files::replace(&file, &changed)?;
    }
    drop_compiled(&file)
}

/// Removes the compiled forms of a source file.
fn drop_compiled(file: &Path) -> Result<(), ProvisionError> {
    let (Some(folder), Some(stem)) = (file.parent(), file.file_stem()) else {
        return Ok(());
    };
    let prefix = format!("{}.", stem.to_string_lossy());
    for compiled in files::entries(&folder.join("__pycache__"))? {
        let name = compiled.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(&prefix) && name.ends_with(".pyc") {
            fs::remove_file(&compiled).map_err(at("remove", &compiled))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::tests::{AFTER, BEFORE, DIFF};

    fn patched() -> PatchedFile {
        PatchedFile {
            package: "mlx-vlm".into(),
            path: "mlx_vlm/a.py".into(),
            before_sha256: files::sha256_of(BEFORE.as_bytes()),
            after_sha256: files::sha256_of(AFTER.as_bytes()),
            patch: "a.patch".into(),
            why: "wrong rows".into(),
        }
    }

    fn installed(folder: &Path, content: &str) -> std::path::PathBuf {
        let file = folder.join("mlx_vlm/a.py");
        fs::create_dir_all(folder.join("mlx_vlm/__pycache__")).unwrap();
        fs::write(&file, content).unwrap();
        fs::write(folder.join("a.patch"), DIFF).unwrap();
        file
    }

    #[test]
    fn a_file_hard_linked_from_a_cache_is_patched_and_the_cache_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = installed(folder.path(), BEFORE);
        let cached = folder.path().join("cached.py");
        fs::hard_link(&file, &cached).unwrap();
        apply(folder.path(), folder.path(), &patched()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), AFTER);
        assert_eq!(fs::read_to_string(&cached).unwrap(), BEFORE);
        apply(folder.path(), folder.path(), &patched()).unwrap();
    }

    #[test]
    fn only_the_patched_files_compiled_form_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        installed(folder.path(), BEFORE);
        let compiled = folder.path().join("mlx_vlm/__pycache__");
        for name in ["a.cpython-311.pyc", "a.cpython-311.opt-1.pyc", "ab.cpython-311.pyc"] {
            fs::write(compiled.join(name), "").unwrap();
        }
        apply(folder.path(), folder.path(), &patched()).unwrap();
        assert_eq!(files::entries(&compiled).unwrap(), [compiled.join("ab.cpython-311.pyc")]);
    }

    #[test]
    fn a_file_the_patch_was_not_made_for_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = installed(folder.path(), "other\n");
        let error = apply(folder.path(), folder.path(), &patched()).unwrap_err();
        assert!(matches!(error, ProvisionError::PatchRefused { .. }), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "other\n");
    }

    #[test]
    fn a_patch_that_yields_another_file_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = installed(folder.path(), BEFORE);
        let wanted = PatchedFile { after_sha256: "0".repeat(64), ..patched() };
        let error = apply(folder.path(), folder.path(), &wanted).unwrap_err();
        assert!(error.to_string().contains("patched, its sha256 is"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), BEFORE);
    }

    #[test]
    fn every_patch_of_this_project_can_be_read() {
        let patches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../runtime-patches/patches");
        let found = files::entries(&patches).unwrap();
        assert!(!found.is_empty());
        for file in found {
            let bytes = files::read(&file).unwrap();
            let diff = diffy::Patch::from_bytes(&bytes).unwrap();
            assert!(!diff.hunks().is_empty(), "{}", file.display());
        }
    }
}
