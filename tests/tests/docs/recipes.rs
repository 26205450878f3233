//! CONTRIBUTING names every recipe of the justfile, and no other.

use std::collections::BTreeSet;
use std::fs;

use super::markdown::{self, root};

const PAGE: &str = "CONTRIBUTING.md";
/// Lists the others.
const LIST: &str = "default";

#[test]
fn recipes_are_documented() {
    let page = markdown::read(PAGE);
    let spans = page.code_spans();
    let named = spans.iter().filter_map(|(_, span)| span.strip_prefix("just ")?.split(' ').next());
    let justfile = fs::read_to_string(root().join("justfile")).expect("the justfile");
    let headers = justfile.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
    let recipes = headers.filter_map(|line| line.split([' ', ':']).next());
    assert_eq!(named.collect::<BTreeSet<_>>(), recipes.filter(|name| *name != LIST).collect());
}
