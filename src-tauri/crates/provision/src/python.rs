//! A Python that can carry the runtime, found and asked what it is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use crate::{Environment, Platform, ProvisionError, PythonRange, files, program};

const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// Variables that make a Python or an installer work on something else than it is told to.
pub(crate) const MISLEADING: [&str; 14] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_NO_BINARY",
    "UV_NO_BINARY",
    "UV_SYSTEM_PYTHON",
    "UV_PYTHON",
    "LD_PRELOAD",
];

const QUESTION: &str = r#"
import json, platform, sys, sysconfig
from importlib import metadata
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
print(json.dumps({
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "version": ".".join(map(str, sys.version_info[:3])),
    "implementation": sys.implementation.name,
    "machine": platform.machine(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "site_packages": sysconfig.get_path("purelib"),
    "packages": {name: version(name) for name in sys.argv[1:]},
}))
"#;

/// What a Python says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Python {
    /// The interpreter itself, also when a virtual environment's was asked.
    pub(crate) executable: PathBuf,
    pub(crate) version: String,
    implementation: String,
    machine: String,
    free_threaded: bool,
    pub(crate) site_packages: PathBuf,
    /// The versions of the packages asked about.
    pub(crate) packages: std::collections::BTreeMap<String, Option<String>>,
}

/// Asks a Python what it is and which versions of packages it has.
pub(crate) fn ask(executable: &Path, packages: &[&str]) -> Result<Python, ProvisionError> {
    let mut command = Command::new(executable);
    command.args(["-I", "-c", QUESTION]).args(packages);
    for name in MISLEADING {
        command.env_remove(name);
    }
    let ended = program::run(&mut command, Some(ANSWER_LIMIT), &mut |_| ())?;
    let program = executable.to_owned();
    if !ended.status.success() {
        return Err(ProvisionError::ProgramFailed { program, status: ended.status_text(), said: ended.said });
    }
    serde_json::from_slice(&ended.stdout)
        .map_err(|error| ProvisionError::AnswerUnreadable { program, what: error.to_string() })
}

/// Asks a Python that a setting names; whatever keeps it from answering is a fault of that setting.
pub(crate) fn ask_named(
    setting: &'static str,
    executable: &Path,
    packages: &[&str],
    wanted: &PythonRange,
) -> Result<Python, ProvisionError> {
    ask(executable, packages).map_err(|error| ProvisionError::NamedPythonUnusable {
        setting,
        executable: executable.to_owned(),
        what: first_line(&error),
        wanted: wanted.to_string(),
    })
}

impl Python {
    /// Checks that this Python, reached as `named`, can carry the runtime.
    pub(crate) fn check(&self, named: &Path, wanted: &PythonRange) -> Result<(), ProvisionError> {
        if !wanted.holds(&self.version) {
            return Err(ProvisionError::PythonWrongVersion {
                executable: named.to_owned(),
                found: self.version.clone(),
                wanted: wanted.to_string(),
            });
        }
        let machine = Platform::current()?.python_machine();
        let what = if self.implementation != "cpython" {
            format!("it is {}, not CPython", self.implementation)
        } else if self.free_threaded {
            "it is a free-threaded build, for which the packages do not exist".into()
        } else if self.machine != machine {
            format!("it is built for {}, not {machine}", self.machine)
        } else {
            return Ok(());
        };
        Err(ProvisionError::PythonUnusable { executable: named.to_owned(), what })
    }
}

/// Finds a Python in the range: `HANGAR_PYTHON` and no other when set, else on the search path.
pub(crate) fn find(wanted: &PythonRange, environment: &Environment) -> Result<Python, ProvisionError> {
    if let Some(named) = environment.path("HANGAR_PYTHON") {
        let python = ask_named("HANGAR_PYTHON", &named, &[], wanted)?;
        return python.check(&named, wanted).map(|()| python);
    }
    let macos = Platform::current()?.is_macos();
    let tools = developer_tools_installed;
    let mut tried = Vec::new();
    for candidate in candidates(wanted, environment, macos) {
        if macos && is_apple_stub(&candidate) && !tools() {
            tried.push(format!(
                "{}: only opens a dialog until `xcode-select --install` has run",
                candidate.display()
            ));
            continue;
        }
        let found = ask(&candidate, &[]).and_then(|python| python.check(&candidate, wanted).map(|()| python));
        match found {
            Ok(python) => return Ok(python),
            Err(error) => tried.push(first_line(&error)),
        }
    }
    Err(ProvisionError::PythonMissing { wanted: wanted.to_string(), tried })
}

/// Every Python on the search path that may serve, best first.
fn candidates(wanted: &PythonRange, environment: &Environment, macos: bool) -> Vec<PathBuf> {
    let mut folders = environment.search_path();
    // An app started from the desktop has a search path without these.
    let usual: &[&str] = if macos {
        &["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin"]
    } else {
        &["/usr/local/bin", "/usr/bin"]
    };
    for folder in usual.iter().map(PathBuf::from) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let names = wanted.versions_latest_first().into_iter().map(|version| format!("python{version}"));
    names
        .chain(["python3".to_owned()])
        .flat_map(|name| folders.iter().map(move |folder| folder.join(&name)).collect::<Vec<_>>())
        .filter(|path| path.is_absolute() && files::is_executable(path))
        .collect()
}

/// The Python that comes with macOS asks for developer tools in a dialog instead of running.
fn is_apple_stub(path: &Path) -> bool {
    path.starts_with("/usr/bin") || path.canonicalize().is_ok_and(|real| real.starts_with("/usr/bin"))
}

fn developer_tools_installed() -> bool {
    let mut command = Command::new("/usr/bin/xcode-select");
    command.arg("-p");
    program::run(&mut command, Some(ANSWER_LIMIT), &mut |_| ()).is_ok_and(|ended| ended.status.success())
}

/// What went wrong without what a program said about it.
pub(crate) fn first_line(error: &ProvisionError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    fn range() -> PythonRange {
        PythonRange { min: "3.11".into(), max: "3.14".into() }
    }

    /// A program that answers as a Python of this version would.
    pub(crate) fn fake(path: &Path, version: &str, packages: &str) {
        let machine = Platform::current().unwrap().python_machine();
        let answer = format!(
            r#"{{"executable":"{}","version":"{version}","implementation":"cpython","machine":"{machine}",
            "free_threaded":false,"site_packages":"/nowhere","packages":{packages}}}"#,
            path.display()
        );
        script(path, &format!("cat <<'ANSWER'\n{answer}\nANSWER"));
    }

    /// Written by another process: a program that this one still holds open for writing, if only in a
    /// child that another test is just starting, cannot be run.
    pub(crate) fn script(path: &Path, body: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let writer = r#"printf '#!/bin/sh\n%s\n' "$2" >"$1" && chmod 755 "$1""#;
        let status = Command::new("/bin/sh").args(["-c", writer, "sh"]).arg(path).arg(body).status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn a_named_python_of_another_version_is_refused_with_both_versions() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python3.9");
        fake(&python, "3.9.18", "{}");
        let environment = Environment::from_pairs([("HANGAR_PYTHON", &python)]);
        let error = find(&range(), &environment).unwrap_err();
        assert_eq!(error.to_string(), format!("{} is Python 3.9.18, not 3.11 to 3.14", python.display()));
        assert!(error.hint().unwrap().contains("HANGAR_PYTHON"));
    }

    #[test]
    fn the_latest_version_that_works_is_taken_and_a_broken_one_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        script(&folder.path().join("python3.14"), "echo 'command not found' >&2; exit 127");
        fake(&folder.path().join("python3.13"), "3.13.1", "{}");
        fake(&folder.path().join("python3"), "3.12.0", "{}");
        let environment = Environment::from_pairs([("PATH", folder.path())]);
        assert_eq!(find(&range(), &environment).unwrap().version, "3.13.1");
    }

    #[test]
    fn a_free_threaded_or_foreign_python_is_named_unusable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        fake(&path, "3.13.1", "{}");
        let mut python = ask(&path, &[]).unwrap();
        python.free_threaded = true;
        assert!(python.check(&path, &range()).unwrap_err().to_string().contains("free-threaded"));
        python.free_threaded = false;
        python.machine = "riscv64".into();
        assert!(python.check(&path, &range()).unwrap_err().to_string().contains("riscv64"));
    }

    #[test]
    fn a_program_that_is_no_python_is_an_unreadable_answer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("python3");
        script(&path, "echo hello");
        assert!(matches!(ask(&path, &[]), Err(ProvisionError::AnswerUnreadable { .. })));
        script(&path, "echo broken >&2; exit 1");
        let error = ask(&path, &[]).unwrap_err().to_string();
        assert!(error.contains("exit status 1") && error.contains("broken"), "{error}");
    }

    #[test]
    fn a_named_program_that_is_no_python_3_names_itself_and_the_setting() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("python2.7");
        script(&old, "echo 'Unknown option: -I' >&2; exit 2");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let gone = folder.path().join("gone");
        for named in [Path::new("/bin/true"), Path::new("/bin/sh"), &old, &plain, &gone] {
            let environment = Environment::from_pairs([("HANGAR_PYTHON", named)]);
            let error = find(&range(), &environment).unwrap_err();
            let (said, hint) = (error.to_string(), error.hint().unwrap());
            assert!(said.starts_with(&format!("HANGAR_PYTHON names {}, ", named.display())), "{said}");
            assert!(hint.contains("set HANGAR_PYTHON to") && hint.contains("3.11 to 3.14"), "{hint}");
            assert!(!hint.contains("repair"), "{hint}");
        }
    }

    #[test]
    fn only_a_python_of_the_system_folder_is_taken_for_apples() {
        assert!(is_apple_stub(Path::new("/usr/bin/python3")));
        assert!(!is_apple_stub(Path::new("/opt/homebrew/bin/python3.12")));
    }
}
