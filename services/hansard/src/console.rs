//! The only way to standard output and standard error.
//!
//! Results are written with `writeln!(console::out(), ..)?`: when the reader has gone (`| head`), that is an
//! `io::Error` which ends the command with success, not a panic.

use std::io::{self, StderrLock, StdoutLock, Write as _};

/// Standard output, locked: take it anew for each result, never across an await.
pub fn out() -> StdoutLock<'static> {
    io::stdout().lock()
}

/// Standard error, locked, for progress.
pub fn err() -> StderrLock<'static> {
    io::stderr().lock()
}

/// Tells a failure; when standard error is closed, nobody misses it.
pub fn complain(line: &str) {
    drop(writeln!(err(), "hansard: {line}"));
}
