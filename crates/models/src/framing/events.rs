//! Parses server-sent events as the HTML standard defines them; only their `data` fields are kept.
//!
//! Own code, because existing crates bound neither lines nor events.

use std::collections::VecDeque;

use super::lines::Lines;
use super::{EVENT_BYTES_MAX, TooLong};

/// A stream may begin with a byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The data of the events of a stream.
#[derive(Debug, Default)]
pub struct Events {
    lines: Lines,
    event: Event,
}

#[derive(Debug, Default)]
struct Event {
    has_started: bool,
    data: Option<Vec<u8>>,
}

impl Events {
    /// Adds bytes, and appends the data of complete events to `texts`.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn push(&mut self, bytes: &[u8], texts: &mut VecDeque<Vec<u8>>) -> Result<(), TooLong> {
        let event = &mut self.event;
        self.lines.push(bytes, |line| {
            texts.extend(event.take_line(line)?);
            Ok(())
        })
    }
}

impl Event {
    /// Parses a line. An empty line ends the event and returns its data.
    fn take_line(&mut self, mut line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if !std::mem::replace(&mut self.has_started, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let colon = line.iter().position(|b| *b == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        if field != b"data" {
            return Ok(None);
        }
        let value = value.strip_prefix(b":").unwrap_or(value);
        self.add(value.strip_prefix(b" ").unwrap_or(value))?;
        Ok(None)
    }

    fn add(&mut self, value: &[u8]) -> Result<(), TooLong> {
        let Some(data) = &mut self.data else {
            self.data = Some(value.to_vec());
            return Ok(());
        };
        if data.len() + 1 + value.len() > EVENT_BYTES_MAX {
            return Err(TooLong);
        }
        data.push(b'\n');
        data.extend_from_slice(value);
        Ok(())
    }
}
