//! Generated parts of documents: between two comments, equal to the current code.

use std::fs;
use std::sync::Mutex;

use super::markdown::{self, root};

/// With `always`, as for snapshots, generated parts are written instead of compared.
const VARIABLE: &str = "INSTA_UPDATE";
const END: &str = "<!-- end -->";
/// Several tests write parts of one document.
static DOCUMENTS: Mutex<()> = Mutex::new(());

/// Compares the part `name` of a document with the generated text.
#[track_caller]
pub(crate) fn check(path: &str, name: &str, expected: &str) {
    let _guard = DOCUMENTS.lock();
    let start = format!("<!-- generated: {name} -->\n");
    let text = markdown::read(path).text;
    let (before, rest) = text.split_once(&start).expect("the comment before it");
    let (current, after) = rest.split_once(END).expect("the comment behind it");
    if current == expected {
        return;
    }
    let is_update = std::env::var(VARIABLE).is_ok_and(|value| value == "always");
    assert!(
        is_update,
        "{path}: the part {name} differs from the code: run {VARIABLE}=always cargo test -p tests --test docs\n{expected}"
    );
    let text = format!("{before}{start}{expected}{END}{after}");
    fs::write(root().join(path), text).expect("the document");
}
