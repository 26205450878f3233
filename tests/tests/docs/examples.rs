//! Examples in the documentation of sources are compiled: cargo looks for them in the crates that have some.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::markdown::root;
use super::source::rust_files;

/// The languages of code blocks that cargo does not compile.
const OTHER_LANGUAGES: [&str; 5] = ["json", "sh", "sql", "text", "toml"];

/// Whether a source has a code block in Rust in its documentation.
fn has_example(source: &str) -> bool {
    let lines = source.lines().map(str::trim_start);
    let comments = lines.filter_map(|line| line.strip_prefix("///").or_else(|| line.strip_prefix("//!")));
    let fences = comments.filter_map(|comment| comment.trim_start().strip_prefix("```"));
    // Every second one ends a block.
    fences.step_by(2).any(|language| !OTHER_LANGUAGES.contains(&language))
}

#[test]
fn crates_with_examples_have_them_compiled() {
    let mut packages = BTreeSet::new();
    let mut with_examples = BTreeSet::new();
    for path in rust_files() {
        let relative = path.strip_prefix(root()).expect("below the root");
        let package: PathBuf = relative.components().take(2).collect();
        if has_example(&fs::read_to_string(&path).expect("a source")) {
            with_examples.insert(package.clone());
        }
        packages.insert(package);
    }
    let manifest = |package: &PathBuf| fs::read_to_string(root().join(package).join("Cargo.toml")).expect("a manifest");
    let compiled: BTreeSet<_> =
        packages.into_iter().filter(|package| !manifest(package).contains("\ndoctest = false\n")).collect();
    assert!(!with_examples.is_empty());
    assert_eq!(
        with_examples, compiled,
        "set `doctest = false` below `[lib]` where a crate has no examples, and only there"
    );
}

#[test]
fn code_blocks_in_rust_are_examples() {
    for (source, expected) in [
        ("/// ```\n/// f();\n/// ```\n", true),
        ("    //! ```no_run\n    //! f();\n    //! ```\n", true),
        ("/// ```sql\n/// SELECT 1;\n/// ```\n", false),
        ("/// ```sql\n/// ```\n/// ```\n/// ```\n", true),
        ("// ```\n// f();\n// ```\nfn f() {}\n", false),
    ] {
        assert_eq!(has_example(source), expected, "{source}");
    }
}
