//! The only place that reads the environment: where programs are looked for, and where files go.

use std::env;
use std::path::{Path, PathBuf};

use crate::account::{Account, make_shared_folder};
use crate::error::StackError;

/// Names the folder of the cache; beats every default.
pub(crate) const CACHE_VARIABLE: &str = "HANSARD_CACHE_DIR";

/// As root: the home of root is closed to the user that Postgres runs as.
const ROOT_CACHE: &str = "/var/cache/hansard";
const ROOT_DATA: &str = "/var/lib/hansard";

/// The folder of fetched programs, made if it is missing: `$HANSARD_CACHE_DIR`, else as root
/// `/var/cache/hansard`, else `$XDG_CACHE_HOME/hansard`, else `~/.cache/hansard`.
pub(crate) fn cache_folder() -> Result<PathBuf, StackError> {
    let folder = match absolute(CACHE_VARIABLE) {
        Some(folder) => folder,
        None => {
            default_folder(ROOT_CACHE, "XDG_CACHE_HOME", ".cache").ok_or(StackError::NoHome {
                variable: CACHE_VARIABLE,
            })?
        }
    };
    make_shared_folder(&folder)?;
    Account::for_postgres().check_reach(&folder)?;
    Ok(folder)
}

/// A data folder that Postgres can use: as root `/var/lib/hansard`, else `$XDG_DATA_HOME/hansard`, else
/// `~/.local/share/hansard`. The folder is not made.
///
/// # Errors
/// [`StackError::NoHome`] when neither variable is set.
pub fn default_data_dir() -> Result<PathBuf, StackError> {
    default_folder(ROOT_DATA, "XDG_DATA_HOME", ".local/share")
        .ok_or(StackError::NoHome { variable: "HOME" })
}

fn default_folder(for_root: &str, variable: &str, below_home: &str) -> Option<PathBuf> {
    if Account::for_postgres() == Account::Unprivileged {
        return Some(PathBuf::from(for_root));
    }
    let parent = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(parent.join("hansard"))
}

/// The value of a variable when it is an absolute path; the XDG rules ignore relative ones.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// The folders of `PATH`, in order.
pub(crate) fn search_path() -> Vec<PathBuf> {
    env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default()
}

/// The folder for throw-away files of tests: `$TMPDIR` where Postgres can reach it, else `/tmp`.
pub(crate) fn scratch_parent() -> PathBuf {
    let folder = env::temp_dir();
    match Account::for_postgres().check_reach(&folder) {
        Ok(()) => folder,
        Err(_) => Path::new(SHORT_SCRATCH).to_owned(),
    }
}

/// Where sockets go: a socket's whole path must stay under about 104 bytes, so `$TMPDIR` may be too long.
pub(crate) const SHORT_SCRATCH: &str = "/tmp";
