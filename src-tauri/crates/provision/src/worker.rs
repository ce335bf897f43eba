//! What a worker process is given: a scrubbed environment, and a fast BLAS where one is installed.

use std::path::{Path, PathBuf};

use crate::{Environment, Runtime};

const SAFE_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// An installed OpenBLAS, to be preloaded: mlx for Linux brings a reference BLAS that is several times slower.
pub fn openblas() -> Option<PathBuf> {
    if cfg!(target_os = "linux") { openblas_below(Path::new("/"), std::env::consts::ARCH) } else { None }
}

/// The whole environment of a worker: nothing of the user's but what is named here.
pub fn worker_environment(runtime: &Runtime) -> Vec<(String, String)> {
    scrubbed(runtime.openblas.as_deref(), &Environment::of_process())
}

/// The environment of a worker, taken from these variables.
pub(crate) fn scrubbed(openblas: Option<&Path>, environment: &Environment) -> Vec<(String, String)> {
    let text = |value: &std::ffi::OsStr| value.to_string_lossy().into_owned();
    // The search path stays, because mlx compiles kernels with g++ on the CPU.
    let path = environment.get("PATH").map_or_else(|| SAFE_PATH.to_owned(), text);
    let mut pairs = vec![("PATH".to_owned(), path)];
    if let Some(folder) = environment.get("TMPDIR") {
        pairs.push(("TMPDIR".to_owned(), text(folder)));
    }
    for (name, value) in [("LANG", "C.UTF-8"), ("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1")] {
        pairs.push((name.to_owned(), value.to_owned()));
    }
    if let Some(library) = openblas {
        pairs.push(("LD_PRELOAD".to_owned(), library.display().to_string()));
    }
    let tuning = environment.iter().filter(|(name, _)| name.to_string_lossy().starts_with("OPENBLAS_"));
    pairs.extend(tuning.map(|(name, value)| (text(name), text(value))));
    pairs
}

fn openblas_below(root: &Path, processor: &str) -> Option<PathBuf> {
    let debian = format!("usr/lib/{processor}-linux-gnu");
    let places = [
        format!("{debian}/openblas-pthread/libopenblas.so.0"),
        format!("{debian}/openblas-openmp/libopenblas.so.0"),
        format!("{debian}/libopenblas.so.0"),
        "usr/lib64/libopenblasp.so.0".to_owned(),
        "usr/lib64/libopenblas.so.0".to_owned(),
        "usr/lib/libopenblas.so.0".to_owned(),
    ];
    places.into_iter().map(|place| root.join(place)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_worker_sees_no_token_no_proxy_and_no_home() {
        let environment = Environment::from_pairs([
            ("PATH", "/usr/bin"),
            ("HOME", "/home/someone"),
            ("HF_TOKEN", "secret"),
            ("HTTPS_PROXY", "http://user:secret@proxy.example"),
            ("LD_PRELOAD", "/tmp/other.so"),
            ("PYTHONPATH", "/tmp"),
            ("TMPDIR", "/var/tmp"),
            ("OPENBLAS_CORETYPE", "Haswell"),
            ("OPENBLAS_L2_SIZE", "1048576"),
        ]);
        let pairs = scrubbed(Some(Path::new("/usr/lib/libopenblas.so.0")), &environment);
        let expected = [
            ("PATH", "/usr/bin"),
            ("TMPDIR", "/var/tmp"),
            ("LANG", "C.UTF-8"),
            ("HF_HUB_OFFLINE", "1"),
            ("TRANSFORMERS_OFFLINE", "1"),
            ("LD_PRELOAD", "/usr/lib/libopenblas.so.0"),
            ("OPENBLAS_CORETYPE", "Haswell"),
            ("OPENBLAS_L2_SIZE", "1048576"),
        ];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn nothing_is_preloaded_and_a_safe_path_given_where_there_is_neither() {
        let pairs = scrubbed(None, &Environment::default());
        assert!(!pairs.iter().any(|(name, _)| name == "LD_PRELOAD"));
        assert_eq!(pairs[0], ("PATH".to_owned(), SAFE_PATH.to_owned()));
    }

    #[test]
    fn the_threaded_openblas_is_preferred() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(openblas_below(folder.path(), "x86_64"), None);
        for place in ["usr/lib64", "usr/lib/x86_64-linux-gnu/openblas-pthread"] {
            let library = folder.path().join(place).join("libopenblas.so.0");
            fs::create_dir_all(library.parent().unwrap()).unwrap();
            fs::write(&library, "").unwrap();
            assert_eq!(openblas_below(folder.path(), "x86_64"), Some(library));
        }
    }
}
