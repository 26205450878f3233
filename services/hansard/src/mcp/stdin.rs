//! Lines of standard input, of a bounded size.

use std::io::{self, BufRead, Read as _};

use tokio::sync::mpsc::Sender;

/// Most bytes of a line: the gateway accepts no larger message.
const LINE_BYTES_MAX: usize = gateway::http::mcp::MCP_BODY_BYTES_MAX;

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It is longer than the bound.
    TooLong,
}

/// Sends each line that is not empty, until the input ends or nobody receives.
pub(super) fn read(lines: &Sender<Line>) {
    let mut input = io::stdin().lock();
    // An input that cannot be read has ended.
    while let Ok(Some(line)) = next(&mut input) {
        let is_empty = matches!(&line, Line::Whole(bytes) if bytes.trim_ascii().is_empty());
        if !is_empty && lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line without its end; `None`: the input has ended.
fn next(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(LINE_BYTES_MAX)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    input.by_ref().take(bound).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    } else if bytes.len() > LINE_BYTES_MAX {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Whole(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        let text = format!("a\n\n{longest}\n{longest}y\nlast");
        let mut input = text.as_bytes();
        let mut lines = Vec::new();
        while let Some(line) = next(&mut input).unwrap() {
            lines.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        let expected = [
            whole("a"),
            whole(""),
            whole(&longest),
            Line::TooLong,
            whole("last"),
        ];
        assert_eq!(lines, expected);
    }
}
