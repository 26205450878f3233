//! `docs/explanation/architecture.md` lists the background loops.

use std::fs;

use super::markdown::{self, root};
use super::source;

const PAGE: &str = "docs/explanation/architecture.md";

#[test]
fn every_loop_is_listed() {
    let page = markdown::read(PAGE);
    let listed: Vec<&str> = page.code_spans().into_iter().map(|(_, span)| span).collect();
    let mut count = 0;
    for path in source::rust_files() {
        if !fs::read_to_string(&path).expect("a source").contains("use runtime::every::") {
            continue;
        }
        count += 1;
        let path = path.strip_prefix(root()).expect("a path of the repository").to_string_lossy().into_owned();
        assert!(listed.contains(&path.as_str()), "{path} is not listed in {PAGE}");
    }
    assert!(count > 5, "{count} loops");
}
