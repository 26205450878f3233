//! Files with secrets, which only their owner can read and write.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// The mode of files with secrets.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Writes a file that must not exist.
pub(crate) fn create(path: &Path, contents: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
    writeln!(file, "{contents}")?;
    file.sync_all()
}

/// Reads the secret in a file, or creates it with a new secret. A file that cannot be read is never replaced.
pub(crate) fn read_or_create(path: &Path, make: impl FnOnce() -> String) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let secret = make();
            write(path, &secret).with_context(|| format!("cannot write {}", path.display()))?;
            Ok(secret)
        }
        text => Ok(text.with_context(|| format!("cannot read {}", path.display()))?.trim().to_owned()),
    }
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
