//! Paths in documents exist in the repository, and so do documents named in sources.

use std::fs;
use std::path::Path;

use super::markdown::{documents, root};

/// The checked folders.
const FOLDERS: [&str; 8] = ["bench/", "crates/", "deploy/", "docs/", "examples/", "proto/", "services/", "tests/"];
/// The file types of sources that name documents.
const SOURCES: [&str; 8] = ["rs", "toml", "yaml", "conf", "sql", "proto", "py", "snap"];
/// Folders of build results and installations.
const BUILT: [&str; 3] = ["target", "node_modules", ".git"];

/// The path in inline code; `None` if it has none or several.
fn path(span: &str) -> Option<&str> {
    let path = span.split("::").next()?;
    let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder));
    let is_plain = !path.contains([' ', '*', '{', '<', '…', '$']);
    (is_path && is_plain).then_some(path)
}

#[test]
fn paths_in_documents_exist() {
    let mut missing = Vec::new();
    for document in documents() {
        for (line, span) in document.code_spans() {
            if let Some(path) = path(span).filter(|path| !root().join(path).exists()) {
                missing.push(format!("{}:{line}: {path}", document.path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The documents in a text: words with `docs/` and `.md`.
fn named_documents(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |sign: char| !(sign.is_ascii_alphanumeric() || "/-_.".contains(sign));
    let words = text.split(is_end);
    words.filter_map(|word| {
        let start = word.find("docs/")?;
        let end = word.find(".md")?;
        word.get(start..end + ".md".len())
    })
}

fn check_folder(folder: &Path, missing: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !BUILT.contains(&&*name) {
                check_folder(&path, missing);
            }
            continue;
        }
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if !SOURCES.contains(&&*extension) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let absent = named_documents(&text).filter(|document| !root().join(document).exists());
        missing.extend(absent.map(|document| format!("{}: {document}", path.display())));
    }
}

#[test]
fn documents_that_sources_name_exist() {
    let mut missing = Vec::new();
    for folder in ["bench", "crates", "deploy", "proto", "services", "tests"] {
        check_folder(&root().join(folder), &mut missing);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
