//! Standard output and standard error.
//!
//! Results are written with `writeln!(console::out(), ..)?`. If the reader has closed the pipe (`| head`), this returns an
//! `io::Error`, which ends the command with success, and does not panic.

use std::io::{self, StderrLock, StdoutLock, Write as _};

/// Standard output, locked. Call it for each result; do not hold it across an await.
pub fn out() -> StdoutLock<'static> {
    io::stdout().lock()
}

/// Standard error, locked, for progress.
pub fn err() -> StderrLock<'static> {
    io::stderr().lock()
}

/// Prints a line to standard error. Write errors are ignored.
pub fn print_error(line: &str) {
    drop(writeln!(err(), "hansard: {line}"));
}
