//! Errors of fetching and starting servers.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::step::ServerName;

/// Each message is one line for an operator.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// The program is not in the cache and not on the `PATH`, and pip could not fetch it: install it, or pass a URL.
    #[error("{what} was not found and could not be fetched (no network?): install python3 with pip{alternatives}")]
    Missing {
        /// The missing program and its minimum version.
        what: &'static str,
        /// Other corrections, or empty.
        alternatives: &'static str,
        /// The error of pip.
        source: FetchError,
    },
    /// Another process uses the folder: stop it, or choose another folder.
    #[error("{holder} already uses {folder}: stop it, or choose another folder")]
    InUse {
        /// The folder of the server.
        folder: PathBuf,
        /// The process that uses it: "process 123".
        holder: String,
    },
    /// The user of Postgres cannot enter the folder: choose another one.
    #[error(
        "as root, Postgres runs as uid {uid}, which cannot enter {blocked_by} (mode {mode:04o}): choose a folder that it can enter instead of {folder}"
    )]
    Unreachable {
        /// The required folder.
        folder: PathBuf,
        /// The closed parent.
        blocked_by: PathBuf,
        /// The permission bits of the closed parent.
        mode: u32,
        /// The user of Postgres.
        uid: u32,
    },
    /// There is no default folder for cache or data: set the variable in the message.
    #[error("no home folder is known: set {variable}")]
    NoHome {
        /// The environment variable to set.
        variable: &'static str,
    },
    /// A file or folder cannot be read or written: correct its permissions, or free space.
    #[error("cannot use {path}")]
    Storage {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no free TCP port on 127.0.0.1.
    #[error("no free port on 127.0.0.1")]
    NoPort(#[source] io::Error),
    /// A program cannot be started.
    #[error("cannot run {program}")]
    Unrunnable {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The server ended or was not ready in time; its log has the reason.
    #[error("{server} did not start: {reason} (log: {log})")]
    DidNotStart {
        /// The server.
        server: ServerName,
        /// The last fatal line of its log, or the timeout.
        reason: String,
        /// Its log.
        log: PathBuf,
    },
    /// The server ended by itself after the maximum number of restarts.
    #[error("{server} keeps ending by itself (log: {log})")]
    KeepsEnding {
        /// The server.
        server: ServerName,
        /// Its log.
        log: PathBuf,
    },
    /// The database cannot be created.
    #[error("cannot create the database {name}: {reason}")]
    NoDatabase {
        /// The name of the database.
        name: String,
        /// The error of Postgres.
        reason: String,
    },
}

/// A package could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// python3 cannot be run: install it.
    #[error("python3 cannot be run")]
    NoPython(#[source] io::Error),
    /// pip failed: it is missing, has no network, or finds no wheel with these hashes for this platform.
    #[error("pip failed: {0}")]
    PipFailed(String),
    /// The fetch reached its timeout.
    #[error("fetching took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
}

/// Attaches the path to an I/O error.
pub(crate) fn storage(path: &Path) -> impl FnOnce(io::Error) -> StackError + '_ {
    move |source| StackError::Storage { path: path.to_owned(), source }
}

/// Attaches the program to the error of its start.
pub(crate) fn unrunnable(program: &Path) -> impl FnOnce(io::Error) -> StackError + '_ {
    move |source| StackError::Unrunnable { program: program.to_owned(), source }
}
