//! Files of secrets: read and written by their owner alone.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Read and written by its owner alone.
pub(super) const FILE_MODE: u32 = 0o600;

/// Writes a file that must not be there.
pub(super) fn create(path: &Path, contents: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)?;
    writeln!(file, "{contents}")?;
    file.sync_all()
}

/// Replaces the file at once, so that a crash leaves the old one or the new one.
pub(super) fn write(path: &Path, contents: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create(Path::new(&new), contents)?;
    fs::rename(new, path)
}
