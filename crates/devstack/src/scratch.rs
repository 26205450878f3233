//! Temporary folders.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::environment;
use crate::error::{StackError, storage};

/// The user of Postgres must be able to enter; the files inside have their own modes.
const MODE: u32 = 0o755;

/// A folder for Unix sockets, with a short path.
pub(crate) fn socket_folder() -> Result<TempDir, StackError> {
    make(Path::new(environment::SHORT_SCRATCH))
}

/// A folder for the server of a test.
pub(crate) fn server_folder() -> Result<TempDir, StackError> {
    make(&environment::scratch_parent())
}

fn make(parent: &Path) -> Result<TempDir, StackError> {
    let folder = tempfile::Builder::new()
        .prefix("hansard-")
        .tempdir_in(parent)
        .map_err(storage(parent))?;
    fs::set_permissions(folder.path(), Permissions::from_mode(MODE))
        .map_err(storage(folder.path()))?;
    Ok(folder)
}
