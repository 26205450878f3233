//! The JSON examples of the documentation are taken as they are printed.

use std::fs;
use std::path::Path;

use context::Policy;

/// The fenced blocks of JSON in a document.
fn examples(text: &str) -> Vec<String> {
    let blocks = text.split("\n```json\n").skip(1);
    let ends = blocks.filter_map(|block| block.split_once("\n```"));
    ends.map(|(example, _)| example.to_owned()).collect()
}

#[test]
fn every_example_is_taken() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut policies = 0;
    for entry in fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
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
    assert!(policies > 0, "docs/context-policy.md has an example");
}
