//! Rules for Rust sources.

use crate::code::{Token, block_length, starts_with, tokens, without_tests};
use crate::tree::File;

/// Places outside the rooms where a library, or one of its family, is named in code.
pub fn named_outside(files: &[File], library: &str, rooms: &[&str]) -> Vec<String> {
    let family = format!("{library}_");
    let outside = files.iter().filter(|file| !rooms.iter().any(|room| file.path.starts_with(room)));
    findings(outside, |token| token.text == library || token.text.starts_with(&family))
}

/// Places where one of the words stands in code.
pub fn names(files: &[File], words: &[&str]) -> Vec<String> {
    findings(files.iter(), |token| words.contains(&token.text.as_str()))
}

/// Places where a path begins with one of the roots.
pub fn roots(files: &[File], roots: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let tokens = tokens(&file.text);
        for at in 0..tokens.len() {
            if roots.iter().any(|root| starts_with(&tokens[at..], &[root, ":", ":"])) {
                found.push(place(file, &tokens[at]));
            }
        }
    }
    found
}

/// Places where one of a library's modules is used, alone or in a braced list.
pub fn uses(files: &[File], library: &str, modules: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        let tokens = tokens(&file.text);
        for at in 0..tokens.len() {
            if starts_with(&tokens[at..], &[library, ":", ":"]) {
                let used = first_segments(&tokens[at + 3..]);
                let forbidden = used.into_iter().filter(|token| modules.contains(&token.text.as_str()));
                found.extend(forbidden.map(|token| place(file, token)));
            }
        }
    }
    found
}

/// Files whose first line is no module comment.
pub fn without_purpose(files: &[File]) -> Vec<String> {
    let purpose = |file: &&File| !file.text.lines().next().unwrap_or_default().starts_with("//! ");
    files.iter().filter(purpose).map(|file| format!("{}: first line is no //! comment", file.path)).collect()
}

/// Places outside tests that call `unwrap` or `expect`.
pub fn unwraps(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_test(&file.path)) {
        let tokens = without_tests(tokens(&file.text));
        for at in 0..tokens.len() {
            if ["unwrap", "expect"].iter().any(|name| starts_with(&tokens[at..], &[".", name, "("])) {
                found.push(place(file, &tokens[at + 1]));
            }
        }
    }
    found
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
}

fn findings<'a>(files: impl Iterator<Item = &'a File>, bad: impl Fn(&Token) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        found.extend(tokens(&file.text).iter().filter(|token| bad(token)).map(|token| place(file, token)));
    }
    found
}

fn place(file: &File, token: &Token) -> String {
    format!("{}:{}: {}", file.path, token.line, token.text)
}

/// The names right below a path: one, or those of a braced list.
fn first_segments(tokens: &[Token]) -> Vec<&Token> {
    if tokens.first().is_none_or(|token| token.text != "{") {
        return tokens.first().into_iter().collect();
    }
    let mut depth = 0;
    let mut names = Vec::new();
    for pair in tokens[..block_length(tokens)].windows(2) {
        match pair[0].text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 1 && (pair[0].text == "{" || pair[0].text == ",") {
            names.push(&pair[1]);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> [File; 1] {
        [File { path: path.to_owned(), text: text.to_owned() }]
    }

    #[test]
    fn a_library_named_outside_its_room_is_found_with_its_line() {
        let bad = file("worker/src/pipe.rs", "// axum\nuse axum::Router;\n");
        assert_eq!(named_outside(&bad, "axum", &["src-tauri/"]), ["worker/src/pipe.rs:2: axum"]);
        assert!(named_outside(&bad, "axum", &["worker/"]).is_empty());
        let family = file("a.rs", "tauri_plugin_shell::init(); tauris();");
        assert_eq!(named_outside(&family, "tauri", &[]), ["a.rs:1: tauri_plugin_shell"]);
    }

    #[test]
    fn modules_are_found_alone_and_in_lists() {
        for bad in [
            "use std::fs;",
            "std::fs::read(x)",
            "use std::{io, fs};",
            "use std::{io::{self, Read}, fs::File};",
            "use ::std::{fs};",
        ] {
            assert_eq!(uses(&file("a.rs", bad), "std", &["fs"]), ["a.rs:1: fs"], "{bad}");
        }
        for good in ["use std::io;", "use std::{io::{fs}, fmt};", "my::fs()", "// std::fs", "\"std::fs\""] {
            assert!(uses(&file("a.rs", good), "std", &["fs"]).is_empty(), "{good}");
        }
    }

    #[test]
    fn words_and_path_roots_are_found_in_code_only() {
        let text = "use http::Uri; fn http() {} /* StatusCode */ let a: StatusCode;";
        assert_eq!(roots(&file("a.rs", text), &["http"]), ["a.rs:1: http"]);
        assert_eq!(names(&file("a.rs", text), &["StatusCode"]), ["a.rs:1: StatusCode"]);
    }

    #[test]
    fn a_file_without_its_purpose_is_found() {
        assert_eq!(
            without_purpose(&file("a.rs", "use x;\n//! late")),
            ["a.rs: first line is no //! comment"]
        );
        assert_eq!(without_purpose(&file("a.rs", "")).len(), 1);
        assert!(without_purpose(&file("a.rs", "//! What it is for.\n")).is_empty());
    }

    #[test]
    fn unwrap_is_found_outside_tests_only() {
        let text = "fn a() { b.unwrap(); c.expect(\"d\"); e.unwrap_or(1); }\n#[cfg(test)]\nmod tests { f.unwrap(); }";
        assert_eq!(unwraps(&file("src/a.rs", text)), ["src/a.rs:1: unwrap", "src/a.rs:1: expect"]);
        for path in ["tests/a.rs", "src/tests.rs", "src/a_tests.rs", "src/tests/a.rs"] {
            assert!(unwraps(&file(path, text)).is_empty(), "{path}");
        }
        assert!(unwraps(&file("a.rs", "#![expect(clippy::x)]")).is_empty());
    }
}
