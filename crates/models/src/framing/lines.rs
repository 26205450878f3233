//! Splits a stream into lines, which end in `\n`, `\r` or `\r\n`.

use super::{EVENT_BYTES_MAX, TooLong};

/// The splitter of a stream, with its incomplete line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    /// Whether the last line ended in `\r`. A `\n` directly after it belongs to the same line end.
    after_return: bool,
}

impl Lines {
    /// Adds bytes and calls `each` with every complete line, without its end.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        while let Some(at) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(at);
            let ends_in_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            let is_second_byte = self.after_return && !ends_in_return;
            if !(is_second_byte && line.is_empty() && self.pending.is_empty()) {
                self.append(line)?;
                each(&self.pending)?;
                self.pending.clear();
            }
            self.after_return = ends_in_return;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        self.append(bytes)
    }

    /// The last line if it has no line end.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        let last = std::mem::take(&mut self.pending);
        (!last.is_empty()).then_some(last)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.pending.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }
}
