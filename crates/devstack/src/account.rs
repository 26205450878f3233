//! The user of a server process. Postgres does not run as root: under root it runs as an unprivileged user.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{StackError, storage};

/// The user and group of Postgres under root: "nobody" by convention. It needs no entry in the user database.
pub(crate) const UNPRIVILEGED_ID: u32 = 65534;

/// The mode of folders that both users must enter.
const SHARED_FOLDER_MODE: u32 = 0o755;

/// The user of a server process and its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    Caller,
    /// [`UNPRIVILEGED_ID`]; needs root.
    Unprivileged,
}

impl Account {
    pub(crate) fn for_postgres() -> Self {
        if rustix::process::geteuid().is_root() { Self::Unprivileged } else { Self::Caller }
    }

    /// Runs `command` as this user. The standard library also drops the supplementary groups of root.
    pub(crate) fn apply(self, command: &mut Command) {
        if self == Self::Unprivileged {
            command.uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
        }
    }

    /// Makes this user the owner of a file or folder.
    pub(crate) fn own(self, path: &Path) -> Result<(), StackError> {
        match self {
            Self::Caller => Ok(()),
            Self::Unprivileged => chown(path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).map_err(storage(path)),
        }
    }

    /// Fails unless this user can enter the existing `folder` and all its parents.
    pub(crate) fn check_reach(self, folder: &Path) -> Result<(), StackError> {
        if self == Self::Caller {
            return Ok(());
        }
        for ancestor in folder.ancestors() {
            let metadata = fs::metadata(ancestor).map_err(storage(ancestor))?;
            let owned = metadata.uid() == UNPRIVILEGED_ID;
            let enter = if owned { 0o100 } else { 0o001 };
            if metadata.mode() & enter == 0 {
                return Err(StackError::Unreachable {
                    folder: folder.to_owned(),
                    blocked_by: ancestor.to_owned(),
                    mode: metadata.mode() & 0o7777,
                    uid: UNPRIVILEGED_ID,
                });
            }
        }
        Ok(())
    }
}

/// Creates `path` and its missing parents. All users can enter them, independent of the umask.
pub(crate) fn make_shared_folder(path: &Path) -> Result<(), StackError> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_shared_folder(parent)?;
    }
    match fs::create_dir(path) {
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created
            .and_then(|()| fs::set_permissions(path, Permissions::from_mode(SHARED_FOLDER_MODE)))
            .map_err(storage(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mode: u32, reachable: bool) {
        let root = tempfile::tempdir_in("/tmp").expect("temporary folder");
        fs::set_permissions(root.path(), Permissions::from_mode(0o755)).expect("mode");
        let folder = root.path().join("closed/inner");
        make_shared_folder(&folder).expect("folders");
        let closed = root.path().join("closed");
        fs::set_permissions(&closed, Permissions::from_mode(mode)).expect("mode");
        let reach = Account::Unprivileged.check_reach(&folder);
        fs::set_permissions(&closed, Permissions::from_mode(0o755)).expect("mode");
        match reach {
            Ok(()) => assert!(reachable, "mode {mode:o}"),
            Err(StackError::Unreachable { blocked_by, .. }) => {
                assert!(!reachable, "mode {mode:o}");
                assert_eq!(blocked_by, closed);
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn the_error_names_the_closed_folder() {
        check(0o755, true);
        check(0o711, true);
        if rustix::process::geteuid().is_root() {
            check(0o700, false);
            check(0o750, false);
        }
    }
}
