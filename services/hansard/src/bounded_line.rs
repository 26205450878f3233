//! Lines of a bounded size.

use std::io::{self, BufRead, Read as _};

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its bytes.
    Whole(Vec<u8>),
    /// It is longer than the bound.
    TooLong,
}

/// The next line of at most `bytes_max` bytes; `None`: the input has ended.
///
/// # Errors
/// The input cannot be read.
pub(crate) fn next(input: &mut impl BufRead, bytes_max: usize) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    input.by_ref().take(bound).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    } else if bytes.len() > bytes_max {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Whole(bytes)))
}
