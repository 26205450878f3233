//! The master key of a developer's machine, the same in every run: a file with mode 0600 in the data folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use event_log::seal::{MasterKey, MasterKeys};

use crate::secret_file;

const FILE: &str = "master.key";

/// The path of the key file.
pub(super) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join(FILE)
}

/// Reads the key, or creates it. An unreadable key is never replaced, because sealed secrets need it.
pub(super) fn prepare(data_dir: &Path) -> anyhow::Result<MasterKeys> {
    let path = path(data_dir);
    let text = secret_file::read_or_create(&path, || MasterKey::generate().reveal())?;
    let key = MasterKey::parse(&text).with_context(|| format!("{} does not contain a master key", path.display()))?;
    Ok(MasterKeys { current: Some(key), ..MasterKeys::default() })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_key_is_created_once_with_the_mode_of_secrets() {
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
