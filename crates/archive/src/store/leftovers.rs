//! What a crash leaves of a write in a folder.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A write in a folder begins under the object's name, `#` and a number; what a crash left of one goes, and the folder is synced.
pub(super) fn remove_leftovers(file: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().map(OsStr::to_string_lossy))
    else {
        return Ok(());
    };
    let begun = format!("{name}#");
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        files => files?,
    };
    for found in files {
        let found = found?;
        if found.file_name().to_string_lossy().starts_with(&begun) {
            match fs::remove_file(found.path()) {
                // Its writer, or somebody else who removes it, was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
    }
    File::open(folder)?.sync_all()
}
