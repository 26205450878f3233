//! The JSON examples of the documentation are taken as they are printed.

use std::fs;
use std::path::{Path, PathBuf};

use context::Policy;

/// The fenced blocks of JSON in a document.
fn examples(text: &str) -> Vec<String> {
    let blocks = text.split("\n```json\n").skip(1);
    let ends = blocks.filter_map(|block| block.split_once("\n```"));
    ends.map(|(example, _)| example.to_owned()).collect()
}

/// The documents of a folder and of the folders in it.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| if path.is_dir() { documents(&path) } else { vec![path] });
    found.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_example_is_taken() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut policies = 0;
    for path in documents(&docs) {
        for example in examples(&fs::read_to_string(&path).unwrap()) {
            let read: Result<serde_json::Value, _> = serde_json::from_str(&example);
            assert!(read.is_ok(), "{}: {example}", path.display());
            if path.ends_with("context-policy.md") {
                let policy = Policy::parse(&example);
                assert!(policy.is_ok(), "{example}: {:?}", policy.err());
                policies += 1;
            }
        }
    }
    assert!(policies > 0, "context-policy.md has an example");
}
