//! The files of `deploy/`.

use std::fs;
use std::path::{Path, PathBuf};

/// A path in `deploy/`.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name)
}

/// The text of a file of `deploy/`.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn text(name: &str) -> String {
    let path = path(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
