//! Rules for every text file.

use crate::tree::File;

const MAX_LINES: usize = 600;
const SOURCES: [&str; 8] = [".rs", ".py", ".ts", ".js", ".mjs", ".svelte", ".css", ".sh"];
/// Spelled in halves, so that this file keeps its own rule.
const MACHINE_PATHS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/home", "/user")];
/// Hosts that code, tests and documents may name.
const HOSTS: [&str; 18] = [
    "127.0.0.1",
    "localhost",
    "astral.sh",
    "brew.sh",
    "crates.io",
    "developer.apple.com",
    "docs.astral.sh",
    "doc.rust-lang.org",
    "github.com",
    "huggingface.co",
    "json-schema.org",
    "nodejs.org",
    "platform.openai.com",
    "rustup.rs",
    "semver.org",
    "svelte.dev",
    "www.apache.org",
    "www.w3.org",
];

/// Source files over the limit.
pub fn too_long(files: &[File]) -> Vec<String> {
    files
        .iter()
        .filter(|file| SOURCES.iter().any(|ending| file.path.ends_with(ending)))
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(file, lines)| format!("{}: {lines} lines; the limit is {MAX_LINES}", file.path))
        .collect()
}

/// Lines that name a path of somebody's machine.
pub fn machine_paths(files: &[File]) -> Vec<String> {
    lines(files, |_, line| MACHINE_PATHS.iter().any(|path| line.contains(path)))
}

/// Lines that name a host which is not listed; names under `example` and `invalid` are nobody's. Lock files
/// quote what packages say of themselves, so only the sources in them are looked at.
pub fn unlisted_hosts(files: &[File]) -> Vec<String> {
    lines(files, |path, line| {
        let quotes_packages = path.ends_with("package-lock.json") && !line.contains("\"resolved\"");
        !quotes_packages && hosts(line).any(|host| !is_listed(host))
    })
}

fn is_listed(host: &str) -> bool {
    let nobodys = [".example", ".invalid", ".test", "example.com", "example.org"];
    host.is_empty() || HOSTS.contains(&host) || nobodys.iter().any(|ending| host.ends_with(ending))
}

/// Host names after `http://` or `https://`; one that is put together by the code has none.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split("://");
    parts
        .clone()
        .zip(parts.skip(1))
        .filter(|(before, _)| before.ends_with("http") || before.ends_with("https"))
        .map(|(_, after)| {
            let place =
                after.split(['/', '?', '#', '"', '\'', '`', ' ', '<', '>', ')']).next().unwrap_or_default();
            let host = place.rsplit('@').next().unwrap_or(place);
            let end =
                host.find(|character: char| !character.is_ascii_alphanumeric() && !".-".contains(character));
            host[..end.unwrap_or(host.len())].trim_end_matches('.')
        })
}

fn lines(files: &[File], bad: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            if bad(&file.path, line) {
                let start: String = line.trim().chars().take(100).collect();
                found.push(format!("{}:{}: {start}", file.path, at + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: String) -> [File; 1] {
        [File { path: path.to_owned(), text }]
    }

    #[test]
    fn a_source_over_the_limit_is_found_and_data_is_not() {
        let text = "x\n".repeat(601);
        assert_eq!(too_long(&file("a.py", text.clone())), ["a.py: 601 lines; the limit is 600"]);
        assert!(too_long(&file("a.json", text)).is_empty());
        assert!(too_long(&file("a.rs", "x\n".repeat(600))).is_empty());
    }

    #[test]
    fn a_path_of_a_machine_is_found_with_its_line() {
        for path in MACHINE_PATHS {
            let found = machine_paths(&file("a.md", format!("fine\nsee {path}notes\n")));
            assert_eq!(found, [format!("a.md:2: see {path}notes")]);
        }
        assert!(
            machine_paths(&file("a.md", "the network/ and its framework/ in /tmp/".to_owned())).is_empty()
        );
    }

    #[test]
    fn an_unlisted_host_is_found_and_listed_ones_are_not() {
        let strange = concat!("https:/", "/pypi.mirror.corp:8080/simple");
        assert_eq!(unlisted_hosts(&file("a.toml", strange.to_owned())).len(), 1);
        let listed = "https://github.com/a, http://127.0.0.1:4017/x http://localhost. http://evil.example https://{host} http://a:b@proxy.example:1/";
        assert_eq!(unlisted_hosts(&file("a.md", listed.to_owned())), Vec::<String>::new());
        let resolved = format!("\"resolved\": \"{strange}\"");
        assert_eq!(unlisted_hosts(&file("package-lock.json", resolved)).len(), 1);
        let funding = format!("\"url\": \"{strange}\"");
        assert!(unlisted_hosts(&file("package-lock.json", funding)).is_empty());
    }
}
