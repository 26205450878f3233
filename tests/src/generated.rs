//! Generated parts of documents: between two comments, equal to the current code.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// With `always`, as for snapshots, generated parts are written instead of compared.
const VARIABLE: &str = "INSTA_UPDATE";
const END: &str = "<!-- end -->";
/// Several tests write parts of one document.
static DOCUMENTS: Mutex<()> = Mutex::new(());

/// Compares the part `name` of a document with the generated text; `path`: below the root of the repository.
///
/// # Panics
/// When they differ, or there is no such document or part.
#[track_caller]
pub fn check(path: &str, name: &str, expected: &str) {
    let _guard = DOCUMENTS.lock();
    let start = format!("<!-- generated: {name} -->\n");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = fs::read_to_string(&file).expect("the document");
    let (before, rest) = text.split_once(&start).expect("the comment before it");
    let (current, after) = rest.split_once(END).expect("the comment behind it");
    if current == expected {
        return;
    }
    let is_update = std::env::var(VARIABLE).is_ok_and(|value| value == "always");
    assert!(
        is_update,
        "{path}: the part {name} differs from the code: run the test with {VARIABLE}=always\n{expected}"
    );
    let text = format!("{before}{start}{expected}{END}{after}");
    fs::write(file, text).expect("the document");
}
