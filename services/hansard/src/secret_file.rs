//! Files with secrets, which only their owner can read and write.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The mode of files with secrets.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Writes a file that must not exist.
pub(crate) fn create(path: &Path, contents: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    writeln!(file, "{contents}")?;
    file.sync_all()
}

/// Replaces the file atomically.
pub(crate) fn write(path: &Path, contents: &str) -> io::Result<()> {
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
