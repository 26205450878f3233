//! Folders for data that an unprivileged Postgres must reach.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// Everybody may enter; what lies inside has modes of its own.
const MODE: u32 = 0o755;
/// Short, for sockets, and open to every user.
const PARENT: &str = "/tmp";

/// A folder that every user may enter; gone when dropped.
///
/// # Panics
/// When there is none to be had.
#[must_use]
pub fn enterable() -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("hansard-")
        .tempdir_in(Path::new(PARENT));
    let folder = folder.expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(MODE)).expect("a mode");
    folder
}
