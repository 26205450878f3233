//! Lines of standard input, of a bounded size.

use std::io;

use tokio::sync::mpsc::Sender;

use crate::bounded_line::{Line, next};

/// Most bytes of a line: the gateway accepts no larger message.
const LINE_BYTES_MAX: usize = gateway::http::mcp::MCP_BODY_BYTES_MAX;

/// Sends each line that is not empty, until the input ends or nobody receives.
pub(super) fn read(lines: &Sender<Line>) {
    let mut input = io::stdin().lock();
    // An input that cannot be read has ended.
    while let Ok(Some(line)) = next(&mut input, LINE_BYTES_MAX) {
        let is_empty = matches!(&line, Line::Whole(bytes) if bytes.trim_ascii().is_empty());
        if !is_empty && lines.blocking_send(line).is_err() {
            return;
        }
    }
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
        while let Some(line) = next(&mut input, LINE_BYTES_MAX).unwrap() {
            lines.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        let expected = [whole("a"), whole(""), whole(&longest), Line::TooLong, whole("last")];
        assert_eq!(lines, expected);
    }
}
