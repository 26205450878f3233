//! Reads the environment: the search path of programs, and the folders of files, also temporary ones.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::account::{Account, make_shared_folder};
use crate::error::{StackError, storage};

/// The variable of the cache folder; it replaces every default.
pub(crate) const CACHE_VARIABLE: &str = "HANSARD_CACHE_DIR";
/// The variable of the folder with the programs of Postgres, which are then not searched for.
pub(crate) const POSTGRES_VARIABLE: &str = "HANSARD_POSTGRES_BIN";

/// The defaults under root: the user of Postgres cannot enter the home of root.
const ROOT_CACHE: &str = "/var/cache/hansard";
const ROOT_DATA: &str = "/var/lib/hansard";

/// The parent of temporary folders with short paths.
const SHORT_SCRATCH: &str = "/tmp";
/// The user of Postgres must be able to enter; the files inside have their own modes.
const SCRATCH_MODE: u32 = 0o755;

/// The folder of fetched programs; it is created if it is missing: `$HANSARD_CACHE_DIR`, else as root
/// `/var/cache/hansard`, else `$XDG_CACHE_HOME/hansard`, else `~/.cache/hansard`.
pub(crate) fn cache_folder() -> Result<PathBuf, StackError> {
    let default = || default_folder(ROOT_CACHE, "XDG_CACHE_HOME", ".cache");
    let variable = CACHE_VARIABLE;
    let folder = folder_of(variable).or_else(default).ok_or(StackError::NoHome { variable })?;
    make_shared_folder(&folder)?;
    Account::for_postgres().check_reach(&folder)?;
    Ok(folder)
}

/// A data folder that Postgres can use: as root `/var/lib/hansard`, else `$XDG_DATA_HOME/hansard`, else
/// `~/.local/share/hansard`. The folder is not created.
///
/// # Errors
/// [`StackError::NoHome`] if neither variable is set.
pub fn default_data_dir() -> Result<PathBuf, StackError> {
    default_folder(ROOT_DATA, "XDG_DATA_HOME", ".local/share").ok_or(StackError::NoHome { variable: "HOME" })
}

fn default_folder(for_root: &str, variable: &str, in_home: &str) -> Option<PathBuf> {
    if Account::for_postgres() == Account::Unprivileged {
        return Some(PathBuf::from(for_root));
    }
    let parent = folder_of(variable).or_else(|| Some(folder_of("HOME")?.join(in_home)))?;
    Some(parent.join("hansard"))
}

/// The value of a variable if it is an absolute path; the XDG rules ignore relative paths.
pub(crate) fn folder_of(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

pub(crate) fn search_path() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

/// A temporary folder for the server of a test: in `$TMPDIR` if Postgres can enter it, else in `/tmp`.
pub(crate) fn scratch_folder() -> Result<TempDir, StackError> {
    let parent = env::temp_dir();
    match Account::for_postgres().check_reach(&parent) {
        Ok(()) => temporary_folder(&parent),
        Err(_) => temporary_folder(Path::new(SHORT_SCRATCH)),
    }
}

/// A temporary folder for Unix sockets: the path of a socket must be shorter than about 104 bytes, and `$TMPDIR` may be too
/// long.
pub(crate) fn socket_folder() -> Result<TempDir, StackError> {
    temporary_folder(Path::new(SHORT_SCRATCH))
}

fn temporary_folder(parent: &Path) -> Result<TempDir, StackError> {
    let folder = tempfile::Builder::new().prefix("hansard-").tempdir_in(parent).map_err(storage(parent))?;
    fs::set_permissions(folder.path(), Permissions::from_mode(SCRATCH_MODE)).map_err(storage(folder.path()))?;
    Ok(folder)
}
