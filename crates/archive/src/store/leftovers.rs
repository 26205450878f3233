//! Temporary files of interrupted writes in a folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Removes the temporary files of an object and syncs the folder. `object_store` writes to the object's name, `#` and a number
/// first.
pub(super) fn remove_leftovers(file: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().map(OsStr::to_string_lossy))
    else {
        return Ok(());
    };
    let prefix = format!("{name}#");
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for found in files {
        let found = found?;
        if found.file_name().to_string_lossy().starts_with(&prefix) {
            match fs::remove_file(found.path()) {
                // Its writer or another process removed it first.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    File::open(folder)?.sync_all()
}
