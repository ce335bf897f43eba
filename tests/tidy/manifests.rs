//! Rules for packages and what they depend on.

use std::path::Path;

use serde_json::Value;

/// For each package the packages of ours it may know of. The command line and the black-box tests may know
/// all but the app.
const MAY_KNOW: [(&str, &[&str]); 9] = [
    ("hangar-protocol", &[]),
    ("hangar-worker", &["hangar-protocol"]),
    ("hangar-config", &[]),
    ("hangar-gemma", &[]),
    ("hangar-media", &[]),
    ("hangar-governor", &["hangar-config"]),
    ("hangar-provision", &["hangar-config"]),
    ("hangar-supervisor", &["hangar-protocol", "hangar-config", "hangar-governor"]),
    (
        "hangar-server",
        &[
            "hangar-protocol",
            "hangar-supervisor",
            "hangar-gemma",
            "hangar-media",
            "hangar-provision",
            "hangar-config",
        ],
    ),
];
/// Packages that stand above all others.
const ABOVE: [&str; 2] = ["hangar-cli", "hangar-tests"];
const APP: &str = "hangar-app";
/// For the rooms without IO, the libraries they may use.
const LIBRARIES: [(&str, &[&str]); 4] = [
    ("hangar-protocol", &["serde", "serde_json", "thiserror"]),
    (
        "hangar-config",
        &[
            "jsonc-parser",
            "serde",
            "serde_ignored",
            "serde_json",
            "serde_path_to_error",
            "strsim",
            "thiserror",
        ],
    ),
    ("hangar-gemma", &["serde_json", "thiserror"]),
    ("hangar-media", &["base64", "fast_image_resize", "image", "rubato", "symphonia", "thiserror"]),
];

/// One package of the workspace.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Name of the folder its manifest stands in.
    pub folder: String,
    /// Names of what it depends on, but for tests alone.
    pub dependencies: Vec<String>,
}

/// Reads the output of `cargo metadata`.
pub fn packages(metadata: &Value) -> Vec<Package> {
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let folder = manifest.parent().and_then(Path::file_name).unwrap();
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            Package {
                name: package["name"].as_str().unwrap().to_owned(),
                folder: folder.to_str().unwrap().to_owned(),
                dependencies: dependencies
                    .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
                    .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
                    .collect(),
            }
        })
        .collect()
}

/// Edges between packages of ours that the table does not have, and packages it does not have.
pub fn unlisted_edges(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let ours = package.dependencies.iter().filter(|name| name.starts_with("hangar-"));
        if package.name == APP {
            found.extend(ours.filter(|name| *name != "hangar-server").map(|name| edge(package, name)));
        } else if ABOVE.contains(&package.name.as_str()) {
            found.extend(ours.filter(|name| *name == APP).map(|name| edge(package, name)));
        } else if let Some((_, allowed)) = MAY_KNOW.iter().find(|(name, _)| *name == package.name) {
            found.extend(
                ours.filter(|name| !allowed.contains(&name.as_str())).map(|name| edge(package, name)),
            );
        } else {
            found.push(format!("{} is no room of the house", package.name));
        }
        let homes: [(&str, &[&str]); 3] =
            [("axum", &["hangar-server"]), ("pyo3", &["hangar-worker"]), ("tauri", &[APP])];
        for (library, homes) in homes {
            if package.dependencies.iter().any(|name| name == library)
                && !homes.contains(&package.name.as_str())
            {
                found.push(edge(package, library));
            }
        }
    }
    found
}

/// Libraries that a room without IO may not use.
pub fn unlisted_libraries(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, allowed) in LIBRARIES {
        let Some(package) = packages.iter().find(|package| package.name == name) else {
            found.push(format!("{name} is not there"));
            continue;
        };
        let theirs = package.dependencies.iter().filter(|name| !name.starts_with("hangar-"));
        found.extend(
            theirs.filter(|library| !allowed.contains(&library.as_str())).map(|name| edge(package, name)),
        );
    }
    found
}

/// Packages whose folder is not the last word of their name.
pub fn misnamed_folders(packages: &[Package]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| package.name != APP && package.name.rsplit('-').next() != Some(&package.folder))
        .map(|package| format!("{} stands in {}/", package.name, package.folder))
        .collect()
}

fn edge(package: &Package, name: &str) -> String {
    format!("{} may not know {name}", package.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|name| (*name).to_owned()).collect();
        Package { name: name.to_owned(), folder: folder.to_owned(), dependencies }
    }

    #[test]
    fn an_edge_against_the_table_is_found() {
        let bad = [
            package("hangar-gemma", "gemma", &["serde_json", "hangar-config"]),
            package("hangar-supervisor", "supervisor", &["hangar-server", "hangar-protocol"]),
            package("hangar-tests", "tests", &["hangar-app", "hangar-worker"]),
            package("hangar-app", "src-tauri", &["hangar-server", "hangar-cli", "tauri"]),
            package("hangar-extra", "extra", &[]),
            package("hangar-cli", "cli", &["axum"]),
        ];
        assert_eq!(
            unlisted_edges(&bad),
            [
                "hangar-gemma may not know hangar-config",
                "hangar-supervisor may not know hangar-server",
                "hangar-tests may not know hangar-app",
                "hangar-app may not know hangar-cli",
                "hangar-extra is no room of the house",
                "hangar-cli may not know axum",
            ]
        );
    }

    #[test]
    fn a_library_that_a_pure_room_may_not_use_is_found_and_a_missing_room_too() {
        let bad = [
            package("hangar-protocol", "protocol", &["serde", "tokio"]),
            package("hangar-config", "config", &["serde"]),
            package("hangar-gemma", "gemma", &["regex"]),
        ];
        assert_eq!(
            unlisted_libraries(&bad),
            [
                "hangar-protocol may not know tokio",
                "hangar-gemma may not know regex",
                "hangar-media is not there",
            ]
        );
    }

    #[test]
    fn a_folder_with_another_name_is_found() {
        let bad = [package("hangar-gemma", "markup", &[]), package("hangar-media", "media", &[])];
        assert_eq!(misnamed_folders(&bad), ["hangar-gemma stands in markup/"]);
    }

    #[test]
    fn metadata_is_read_without_what_only_tests_need() {
        let metadata = json!({ "packages": [{
            "name": "hangar-a",
            "manifest_path": "/x/a/Cargo.toml",
            "dependencies": [
                { "name": "serde", "kind": null },
                { "name": "cc", "kind": "build" },
                { "name": "proptest", "kind": "dev" },
            ],
        }] });
        let found = packages(&metadata);
        assert_eq!(found[0].folder, "a");
        assert_eq!(found[0].dependencies, ["serde", "cc"]);
    }
}
