//! The master key of a developer's machine, the same in every run: a file of the data folder that its owner alone can read.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use event_log::seal::{MasterKey, MasterKeys};

use crate::commands::secret_file;

const FILE: &str = "master.key";

/// Where the key is.
pub(super) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Reads the key, or makes it. One that cannot be read is never replaced: it opens what is sealed.
pub(super) fn prepare(data_dir: &Path) -> anyhow::Result<MasterKeys> {
    let path = path(data_dir);
    let name = path.display();
    let key = match fs::read_to_string(&path) {
        Ok(text) => MasterKey::parse(&text).ok_or_else(|| anyhow!("{name} holds no master key"))?,
        Err(error) if error.kind() == ErrorKind::NotFound => make(&path)?,
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    Ok(MasterKeys {
        current: Some(key),
        previous: None,
    })
}

fn make(path: &Path) -> anyhow::Result<MasterKey> {
    let key = MasterKey::generate();
    let name = path.display();
    secret_file::write(path, &key.reveal()).with_context(|| format!("cannot write {name}"))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let first = prepare(folder.path()).unwrap();
        assert!(first.current.is_some());
        assert_eq!(prepare(folder.path()).unwrap(), first);
        let file = path(folder.path());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, secret_file::FILE_MODE);
        fs::write(&file, "no key").unwrap();
        assert!(prepare(folder.path()).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "no key");
    }
}
