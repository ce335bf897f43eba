//! The model that comes along, compared with its list of files.

use std::path::PathBuf;

use serde::Deserialize;

use crate::{ProvisionError, Resources, files};

const SCHEMA: u32 = 1;

#[derive(Deserialize)]
struct Manifest {
    schema: u32,
    files: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    path: PathBuf,
    bytes: u64,
    sha256: String,
}

/// Compares the built-in model with its list of files.
///
/// # Errors
/// [`ProvisionError::ModelFileWrong`] naming the first file that differs.
pub fn verify_pocket(resources: &Resources) -> Result<(), ProvisionError> {
    let list = resources.pocket_dir().join("manifest.json");
    let manifest: Manifest = files::read_json(&list)?;
    let invalid =
        |json_path: String, what: String| ProvisionError::DataInvalid { file: list.clone(), json_path, what };
    if manifest.schema != SCHEMA {
        return Err(invalid("schema".into(), format!("expected {SCHEMA}, found {}", manifest.schema)));
    }
    if manifest.files.is_empty() {
        return Err(invalid("files".into(), "it lists nothing".into()));
    }
    for (index, listed) in manifest.files.iter().enumerate() {
        if !files::is_confined(&listed.path) {
            let what = format!("expected a path inside the folder, found {:?}", listed.path.display());
            return Err(invalid(format!("files[{index}].path"), what));
        }
        let file = resources.pocket_dir().join(&listed.path);
        let expected = format!("{} bytes with sha256 {}", listed.bytes, listed.sha256);
        let wrong = |found| Err(ProvisionError::ModelFileWrong { file: file.clone(), expected, found });
        match files::sha256_of_file(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return wrong("no file".into()),
            Err(error) => return wrong(error.to_string()),
            Ok((_, bytes)) if bytes != listed.bytes => return wrong(format!("{bytes} bytes")),
            Ok((sha256, bytes)) if sha256 != listed.sha256 => {
                return wrong(format!("{bytes} bytes with sha256 {sha256}"));
            }
            Ok(_) => (),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::tests::project;
    use std::fs;
    use std::path::Path;

    fn with_model(root: &Path, path: &str) -> Resources {
        let resources = project(root);
        fs::create_dir_all(resources.pocket_model_dir()).unwrap();
        fs::write(resources.pocket_model_dir().join("model.safetensors"), "weights").unwrap();
        let sha256 = files::sha256_of(b"weights");
        let list = serde_json::json!({"schema": 1, "files": [{"path": path, "bytes": 7, "sha256": sha256}]});
        fs::write(resources.pocket_dir().join("manifest.json"), list.to_string()).unwrap();
        resources
    }

    #[test]
    fn missing_truncated_and_changed_weights_are_named_with_both_figures() {
        let folder = tempfile::tempdir().unwrap();
        let resources = with_model(folder.path(), "model/model.safetensors");
        verify_pocket(&resources).unwrap();
        let weights = resources.pocket_model_dir().join("model.safetensors");
        for (content, found) in [
            (Some("weigh"), "found 5 bytes"),
            (Some("weighty"), "found 7 bytes with"),
            (None, "found no file"),
        ] {
            match content {
                Some(content) => fs::write(&weights, content).unwrap(),
                None => fs::remove_file(&weights).unwrap(),
            }
            let error = verify_pocket(&resources).unwrap_err().to_string();
            assert!(error.contains("model.safetensors") && error.contains("expected 7 bytes"), "{error}");
            assert!(error.contains(found), "{error}");
        }
    }

    #[test]
    fn a_list_that_leaves_its_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = verify_pocket(&with_model(folder.path(), "../../secret")).unwrap_err();
        assert!(error.to_string().contains("files[0].path"), "{error}");
    }

    #[test]
    fn a_list_of_another_shape_or_of_nothing_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let resources = with_model(folder.path(), "model/model.safetensors");
        for (list, path) in
            [(r#"{"schema":2,"files":[]}"#, "at schema"), (r#"{"schema":1,"files":[]}"#, "at files")]
        {
            fs::write(resources.pocket_dir().join("manifest.json"), list).unwrap();
            let error = verify_pocket(&resources).unwrap_err().to_string();
            assert!(error.contains(path), "{error}");
        }
    }

    #[test]
    fn the_model_of_this_project_is_as_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let resources = Resources::locate_from(&root.join("hangar"), &crate::Environment::default()).unwrap();
        verify_pocket(&resources).unwrap();
    }
}
