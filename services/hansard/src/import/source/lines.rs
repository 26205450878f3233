//! Reads JSON Lines: one conversation per line.

use std::io::{self, BufRead};

use domain::{Violation, ViolationReason};

use super::{Entry, EntrySender};
use crate::import::fields::malformed;
use crate::import::{Dialogue, openai};

/// The maximum size of a line, including its line break. A longer line is rejected and skipped.
pub(super) const LINE_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

pub(super) fn read(mut input: impl BufRead, mut sender: EntrySender) -> io::Result<()> {
    let (mut line, mut number, mut bytes_read) = (Vec::new(), 0, 0);
    while !sender.is_full() {
        let bytes = read_line(&mut input, &mut line)?;
        if bytes == 0 {
            break;
        }
        number += 1;
        bytes_read += bytes;
        let dialogue = if bytes > LINE_BYTES_MAX {
            let description = format!("has {bytes} bytes; the maximum is {LINE_BYTES_MAX}");
            Err(Violation::new(ViolationReason::TooLong, description))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            parse(&line, number)
        };
        if !sender.send(Entry { number, bytes_read, dialogue }) {
            break;
        }
    }
    Ok(())
}

/// Reads a line with its line break and returns its size. A line over the maximum is skipped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut bytes = 0;
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        bytes += u64::try_from(taken).unwrap_or(u64::MAX);
        if bytes <= LINE_BYTES_MAX {
            line.extend_from_slice(buffer.get(..taken).unwrap_or_default());
        }
        input.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(bytes);
        }
    }
}

fn parse(line: &[u8], number: u64) -> Result<Dialogue, Violation> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let byte = error.valid_up_to() + 1;
        malformed(format!("is not UTF-8 at byte {byte}"))
    })?;
    // Editors on Windows write a byte order mark.
    let marks: &[char] = if number == 1 { &['\u{feff}'] } else { &[] };
    openai::parse(text.trim_start_matches(marks).trim(), number)
}
