//! The files of the workspace that belong to it: whatever .gitignore covers is left out.

use std::path::Path;

/// Folders that may stand at the top level.
const ROOMS: [&str; 11] = [
    ".cargo",
    ".ci",
    ".git",
    "config",
    "docs",
    "icons",
    "runtime-patches",
    "src-tauri",
    "tests",
    "ui",
    "worker",
];

/// One text file.
#[derive(Clone, Debug)]
pub struct File {
    /// Path from the top, with forward slashes.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// Everything in the workspace.
#[derive(Debug)]
pub struct Tree {
    files: Vec<String>,
    top_folders: Vec<String>,
    root: std::path::PathBuf,
}

impl Tree {
    /// Walks the workspace.
    pub fn read(root: &Path) -> Self {
        let ignored = Ignored::read(&std::fs::read_to_string(root.join(".gitignore")).unwrap());
        let mut tree = Self { files: Vec::new(), top_folders: Vec::new(), root: root.to_owned() };
        tree.walk("", &ignored);
        tree
    }

    /// Files that hold UTF-8 text of at most a megabyte.
    pub fn texts(&self) -> Vec<File> {
        let mut texts = Vec::new();
        for path in &self.files {
            let bytes = std::fs::read(self.root.join(path)).unwrap();
            if bytes.len() <= 1 << 20
                && let Ok(text) = String::from_utf8(bytes)
            {
                texts.push(File { path: path.clone(), text });
            }
        }
        texts
    }

    /// Folders at the top level.
    pub fn top_folders(&self) -> &[String] {
        &self.top_folders
    }

    fn walk(&mut self, folder: &str, ignored: &Ignored) {
        let mut entries: Vec<_> =
            std::fs::read_dir(self.root.join(folder)).unwrap().map(|entry| entry.unwrap()).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if ignored.covers(&path) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                if folder.is_empty() {
                    self.top_folders.push(name.clone());
                }
                if path != ".git" {
                    self.walk(&path, ignored);
                }
            } else if kind.is_file() && path != ".git" {
                self.files.push(path);
            }
        }
    }
}

/// Top-level folders that are no room.
pub fn unlisted_rooms(folders: &[String]) -> Vec<String> {
    folders
        .iter()
        .filter(|folder| !ROOMS.contains(&folder.as_str()))
        .map(|folder| format!("{folder}/ is not a room of the house"))
        .collect()
}

/// The simple patterns of a .gitignore: a name, a path from the top, or an ending.
#[derive(Debug)]
struct Ignored(Vec<String>);

impl Ignored {
    fn read(text: &str) -> Self {
        let lines = text.lines().map(|line| line.trim().trim_end_matches('/'));
        Self(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
    }

    fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.0.iter().any(|pattern| match pattern.strip_prefix('*') {
            Some(ending) => name.ends_with(ending),
            None if pattern.contains('/') => path == pattern.trim_start_matches('/'),
            None => name == pattern,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_room_is_found() {
        let folders = ["ui".to_owned(), "scripts".to_owned()];
        assert_eq!(unlisted_rooms(&folders), ["scripts/ is not a room of the house"]);
    }

    #[test]
    fn only_what_the_patterns_say_is_left_out() {
        let ignored = Ignored::read("/target\n# no\nnode_modules\n*.pyc\nui/dist/\n\n");
        for path in ["target", "node_modules", "ui/node_modules", "a/b.pyc", "ui/dist"] {
            assert!(ignored.covers(path), "{path}");
        }
        for path in ["ui/target", "dist", "b.py", "ui", "# no"] {
            assert!(!ignored.covers(path), "{path}");
        }
    }
}
