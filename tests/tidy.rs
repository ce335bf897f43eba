//! The house's invariants, read off the files of the workspace.
#![expect(clippy::unwrap_used, reason = "what cannot be read fails the test")]

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/manifests.rs"]
mod manifests;
#[path = "tidy/sources.rs"]
mod sources;
#[path = "tidy/texts.rs"]
mod texts;
#[path = "tidy/tree.rs"]
mod tree;

use std::process::Command;

use manifests::Package;
use tree::{File, Tree};

#[test]
fn shell_http_and_python_libraries_are_named_in_their_rooms_only() {
    let files = rust_files();
    for (library, rooms) in [
        ("tauri", &["src-tauri/src/", "src-tauri/build.rs"][..]),
        ("axum", &["src-tauri/crates/server/"][..]),
        ("pyo3", &["worker/src/python.rs"][..]),
    ] {
        none(sources::named_outside(&files, library, rooms));
    }
    assert!(
        files.iter().any(|file| file.path == "worker/src/python.rs"),
        "the extension module is not there"
    );
}

#[test]
fn markup_and_media_do_no_input_or_output() {
    for room in ["src-tauri/crates/gemma/src/", "src-tauri/crates/media/src/"] {
        let files = under(room);
        none(sources::uses(&files, "std", &["fs", "net", "process", "env", "thread"]));
        none(sources::names(&files, &["tokio"]));
    }
}

#[test]
fn lifecycle_machine_names_no_clock_no_runtime_and_no_input_or_output() {
    let files = under("src-tauri/crates/supervisor/src/machine/");
    none(sources::uses(&files, "std", &["fs", "net", "process", "env", "thread", "time", "io"]));
    none(sources::names(&files, &["tokio", "libc", "nix", "Instant", "SystemTime", "async", "await"]));
}

#[test]
fn what_decides_about_sessions_names_no_clock_no_runtime_and_no_input_or_output() {
    for file in ["drone", "policy", "table", "error", "parts"] {
        let files = under(&format!("src-tauri/crates/server/src/drones/{file}.rs"));
        none(sources::uses(&files, "std", &["fs", "net", "process", "env", "thread", "time", "io"]));
        none(sources::names(&files, &["tokio", "Instant", "SystemTime", "async", "await"]));
    }
}

#[test]
fn what_keeps_a_limit_never_reads_the_wall_clock() {
    for room in ["src-tauri/crates/supervisor/", "src-tauri/crates/governor/", "worker/src/"] {
        none(sources::names(&under(room), &["SystemTime", "chrono"]));
    }
}

#[test]
fn nothing_below_the_server_knows_a_status_code() {
    let files: Vec<File> = rust_files()
        .into_iter()
        .filter(|file| {
            !["src-tauri/crates/server/", "src-tauri/crates/cli/", "tests/"]
                .iter()
                .any(|above| file.path.starts_with(above))
        })
        .collect();
    none(sources::names(&files, &["StatusCode"]));
    none(sources::roots(&files, &["http", "hyper"]));
}

#[test]
fn every_crate_knows_only_the_rooms_it_may_know() {
    none(manifests::unlisted_edges(&packages()));
}

#[test]
fn pure_rooms_depend_on_nothing_but_their_listed_libraries() {
    none(manifests::unlisted_libraries(&packages()));
}

#[test]
fn folder_is_the_last_word_of_the_package_name() {
    none(manifests::misnamed_folders(&packages()));
}

#[test]
fn every_module_says_what_it_is_for() {
    none(sources::without_purpose(&rust_files()));
}

#[test]
fn nothing_panics_on_purpose_outside_tests() {
    none(sources::unwraps(&rust_files()));
}

#[test]
fn no_source_file_is_longer_than_the_limit() {
    none(texts::too_long(&tree().texts()));
}

#[test]
fn no_text_names_a_machine_or_an_unlisted_host() {
    let files = tree().texts();
    assert!(files.len() > 50, "only {} files are looked at", files.len());
    none(texts::machine_paths(&files));
    none(texts::unlisted_hosts(&files));
}

#[test]
fn only_the_listed_rooms_stand_at_the_top() {
    let tree = tree();
    let folders = tree.top_folders();
    assert!(folders.iter().any(|folder| folder == "src-tauri"), "{folders:?}");
    none(tree::unlisted_rooms(folders));
}

fn tree() -> Tree {
    Tree::read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
}

fn rust_files() -> Vec<File> {
    let files: Vec<File> = tree().texts().into_iter().filter(|file| file.path.ends_with(".rs")).collect();
    assert!(files.len() > 20, "only {} Rust files are looked at", files.len());
    files
}

fn under(room: &str) -> Vec<File> {
    let files: Vec<File> = rust_files().into_iter().filter(|file| file.path.starts_with(room)).collect();
    assert!(!files.is_empty(), "{room} holds no Rust file");
    files
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packages = manifests::packages(&serde_json::from_slice(&output.stdout).unwrap());
    assert!(packages.len() >= 10, "only {} packages", packages.len());
    packages
}

fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
