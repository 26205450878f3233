//! Folders for data that an unprivileged Postgres must reach.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// Every user may enter the folder; its content has separate modes.
const MODE: u32 = 0o755;
/// A short path, for sockets, that every user can access.
const PARENT: &str = "/tmp";

/// A folder that every user may enter; removed when dropped.
///
/// # Panics
/// When it cannot be created.
#[must_use]
pub fn enterable() -> TempDir {
    let folder = tempfile::Builder::new().prefix("hansard-").tempdir_in(Path::new(PARENT)).expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(MODE)).expect("a mode");
    folder
}

/// Copies a folder with everything in it.
///
/// # Errors
/// A file or a folder cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
