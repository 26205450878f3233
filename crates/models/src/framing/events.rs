//! Server-sent events, as the HTML standard reads them; of each event only what its `data` fields carry.
//!
//! The crates that do this bound neither a line nor an event.

use std::collections::VecDeque;

use super::lines::Lines;
use super::{EVENT_BYTES_MAX, TooLong};

/// What a stream may begin with.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An event as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Events {
    lines: Lines,
    event: Event,
}

#[derive(Debug, Default)]
struct Event {
    has_begun: bool,
    data: Option<Vec<u8>>,
}

impl Events {
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        texts: &mut VecDeque<Vec<u8>>,
    ) -> Result<(), TooLong> {
        let event = &mut self.event;
        self.lines.push(bytes, |line| {
            texts.extend(event.take_line(line)?);
            Ok(())
        })
    }
}

impl Event {
    /// Takes a line; an empty one ends the event.
    fn take_line(&mut self, mut line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        if !std::mem::replace(&mut self.has_begun, true) {
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
