//! Reads comments of sources for generated parts of documents.

use std::fs;
use std::path::{Path, PathBuf};

use super::markdown::root;

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of the product's Rust sources, sorted.
pub(crate) fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in ["crates", "services"] {
        collect(&root().join(folder), &mut files);
    }
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// A comment as a cell of a table: rustdoc links become code.
pub(crate) fn cell(comment: &[&str]) -> String {
    let text = comment.join(" ");
    text.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

/// The value of a constant from its expression; products of whole numbers are computed.
pub(crate) fn number(expression: &str) -> String {
    let factors: Result<Vec<u64>, _> =
        expression.split('*').map(|factor| factor.trim().replace('_', "")).map(|factor| factor.parse()).collect();
    match factors {
        Ok(factors) => factors.iter().product::<u64>().to_string(),
        Err(_) => expression.trim().to_owned(),
    }
}

/// Replaces constant names in a comment by their values.
pub(crate) fn with_constants(meaning: &str, text: &str) -> String {
    let mut meaning = meaning.to_owned();
    for rest in text.split("pub const ").skip(1) {
        let Some((name, rest)) = rest.split_once(':') else {
            continue;
        };
        let value = rest.split_once('=').and_then(|(_, value)| value.split(';').next());
        if let Some(value) = value {
            meaning = meaning.replace(&format!("`{name}`"), &number(value));
        }
    }
    meaning
}
