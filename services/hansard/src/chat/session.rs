//! The file with the session of a caller without a token, which gives access to the conversations of the caller.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use runtime::config::Secret;
use sha2::{Digest as _, Sha256};

use crate::secret_file;

/// Most bytes of a session: the longest that fits into a header of a gateway.
const SESSION_BYTES_MAX: u64 = 4 * 1024;
/// Bytes of the digest in the name of a default file.
const NAME_BYTES: usize = 8;

/// The default file of an API key at a gateway, below the folder of the chat's files.
pub(crate) fn default_file(folder: &Path, url: &str, api_key: &Secret) -> PathBuf {
    let digest = Sha256::new().chain_update(url).chain_update([0]).chain_update(api_key.expose()).finalize();
    let name = digest.get(..NAME_BYTES).unwrap_or_default();
    folder.join("sessions").join(hex::encode(name))
}

/// A file with a session.
#[derive(Debug)]
pub(super) struct SessionFile(PathBuf);

impl SessionFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn name(&self) -> String {
        self.0.display().to_string()
    }

    /// The session; `None`: there is no file.
    pub(super) fn read(&self) -> anyhow::Result<Option<Secret>> {
        let mut text = String::new();
        let read = File::open(&self.0).and_then(|file| file.take(SESSION_BYTES_MAX).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read the session file {}", self.name())),
            Ok(_) => Ok(Some(Secret::new(text.trim()))),
        }
    }

    /// Replaces the session.
    pub(super) fn write(&self, session: &Secret) -> anyhow::Result<()> {
        let written = secret_file::write(&self.0, session.expose());
        written.with_context(|| format!("cannot write the session file {}", self.name()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn sessions_are_kept_by_gateway_and_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = |url: &str, key: &str| default_file(folder.path(), url, &Secret::new(key));
        assert_ne!(file("a", "k"), file("b", "k"));
        assert_ne!(file("a", "k"), file("ak", ""));
        let path = file("a", "k");
        let session = SessionFile::at(path.clone());
        assert!(session.read().unwrap().is_none());
        session.write(&Secret::new("s1")).unwrap();
        session.write(&Secret::new("s2")).unwrap();
        assert_eq!(session.read().unwrap().unwrap().expose(), "s2");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, secret_file::FILE_MODE);
        assert!(SessionFile::at(folder.path().to_owned()).read().is_err());
    }
}
