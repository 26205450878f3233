//! Standard output and standard error.
//!
//! Results are written with `writeln!(console::out(), ..)?`. If the reader has closed the pipe (`| head`), this returns an
//! `io::Error`, which ends the command with success, and does not panic. What others wrote cannot control the terminal.

use std::io::{self, StderrLock, StdoutLock, Write};

use crate::printable::printable;

/// Whether results are printed as JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsJson(pub(crate) bool);

/// Standard output, locked. Call it for each result; do not hold it across an await.
#[must_use]
pub fn out() -> Printable<StdoutLock<'static>> {
    Printable(io::stdout().lock())
}

/// Standard output of text that this program styles. What others wrote has passed [`printable`].
pub(crate) fn styled() -> StdoutLock<'static> {
    io::stdout().lock()
}

/// Standard error, locked, for progress.
#[must_use]
pub fn err() -> Printable<StderrLock<'static>> {
    Printable(io::stderr().lock())
}

/// Writes text as `printable` returns it. Bytes that are no UTF-8 become U+FFFD, so each write has whole characters.
#[derive(Debug)]
pub struct Printable<W>(pub(crate) W);

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints the progress of a server's start or a download to standard error. Write errors are ignored.
#[expect(clippy::needless_pass_by_value, reason = "devstack passes a value")]
pub(crate) fn print_step(step: devstack::Step) {
    drop(writeln!(err(), "{step}"));
}

/// Prints a line to standard error. Write errors are ignored.
pub fn print_error(line: &str) {
    drop(writeln!(err(), "hansard: {line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_written_controls_the_terminal() {
        let check = |bytes: &[u8], expected: &str| {
            let mut out = Printable(Vec::new());
            out.write_all(bytes).unwrap();
            assert_eq!(String::from_utf8(out.0).unwrap(), expected);
        };
        check(b"a\tb\n", "a\tb\n");
        check("\u{1b}[2J\u{9b}1m".as_bytes(), r"\u001b[2J\u009b1m");
        // A terminal of Latin-1 takes this byte for a control character.
        check(b"\x9b1m", "\u{fffd}1m");
        // A JSON value stays the same.
        let json = serde_json::json!({"name": "\u{202e}gpj.exe\u{9b}\u{1b}\u{7f}\n"});
        let mut out = Printable(Vec::new());
        write!(out, "{json}").unwrap();
        assert!(out.0.is_ascii());
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out.0).unwrap(), json);
    }
}
