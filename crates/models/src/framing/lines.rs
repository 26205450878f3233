//! Cuts a stream at the ends of its lines: `\n`, `\r` or both.

use super::{EVENT_BYTES_MAX, TooLong};

/// A line as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pending: Vec<u8>,
    /// Whether the last line ended in `\r`: a `\n` right after it belongs to it.
    after_return: bool,
}

impl Lines {
    /// Takes more bytes and hands on each line that they complete, without its end.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), TooLong>,
    ) -> Result<(), TooLong> {
        while let Some(at) = bytes.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(at);
            let ends_in_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            let completes = self.after_return && !ends_in_return;
            if !(completes && line.is_empty() && self.pending.is_empty()) {
                self.hold(line)?;
                each(&self.pending)?;
                self.pending.clear();
            }
            self.after_return = ends_in_return;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        self.hold(bytes)
    }

    /// The last line, if it has no end.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        let last = std::mem::take(&mut self.pending);
        (!last.is_empty()).then_some(last)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.pending.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }
}
