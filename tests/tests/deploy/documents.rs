//! Parses every document; the modules beside this one check their content.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;

use tests::deploy_files as files;

/// All documents of a YAML file, merge keys applied.
pub(crate) fn yaml(name: &str) -> Vec<Value> {
    let text = files::text(name);
    let documents = serde_yaml_ng::Deserializer::from_str(&text);
    let read = |document| {
        let mut value = serde_yaml_ng::Value::deserialize(document)?;
        value.apply_merge()?;
        serde_yaml_ng::from_value(value)
    };
    let documents: Result<Vec<Value>, _> = documents.map(read).collect();
    documents.unwrap_or_else(|error: serde_yaml_ng::Error| panic!("{name}: {error}"))
}

/// The document of a JSON file.
pub(crate) fn json(name: &str) -> Value {
    let document = serde_json::from_str(&files::text(name));
    document.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The value at a JSON pointer, which must exist.
pub(crate) fn at<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    let value = document.pointer(pointer);
    value.unwrap_or_else(|| panic!("{pointer} in {document}"))
}

/// The text at a JSON pointer.
pub(crate) fn text_at<'a>(document: &'a Value, pointer: &str) -> &'a str {
    let text = at(document, pointer).as_str();
    text.unwrap_or_else(|| panic!("a text at {pointer}"))
}

/// The items at a JSON pointer; empty if it is missing.
pub(crate) fn items<'a>(document: &'a Value, pointer: &str) -> &'a [Value] {
    let items = document.pointer(pointer).and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_document_parses() {
    let root = files::path("");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    let (mut yamls, mut jsons) = (0, 0);
    for path in paths {
        let name = path.strip_prefix(&root).expect("a file of deploy").to_str().expect("a plain name");
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => {
                assert!(!yaml(name).is_empty(), "{name}");
                yamls += 1;
            }
            Some("json") => {
                json(name);
                jsons += 1;
            }
            _ => {}
        }
    }
    assert!(yamls >= 12 && jsons >= 1, "{yamls} YAML, {jsons} JSON");
}
