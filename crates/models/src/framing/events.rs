//! Parses server-sent events as the HTML standard defines them; only their `data` and `id` fields are kept.
//!
//! Own code, because existing crates bound neither lines nor events.

use std::collections::VecDeque;

use super::lines::Lines;
use super::{EVENT_BYTES_MAX, TooLong};

/// A stream may begin with a byte order mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// An event with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// The `id` field of this event. Unlike the standard's last event id, it is not inherited from an earlier event.
    pub id: Option<Vec<u8>>,
    /// The data.
    pub data: Vec<u8>,
}

/// The events of a stream.
#[derive(Debug, Default)]
pub struct Events {
    lines: Lines,
    event: Event,
}

#[derive(Debug, Default)]
struct Event {
    has_started: bool,
    id: Option<Vec<u8>>,
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
            texts.extend(event.take_line(line)?.map(|event| event.data));
            Ok(())
        })
    }

    /// Adds bytes, and appends complete events that have data to `events`.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn push_events(&mut self, bytes: &[u8], events: &mut VecDeque<StreamEvent>) -> Result<(), TooLong> {
        let event = &mut self.event;
        self.lines.push(bytes, |line| {
            events.extend(event.take_line(line)?);
            Ok(())
        })
    }
}

impl Event {
    /// Parses a line. An empty line ends the event and returns it if it has data.
    fn take_line(&mut self, mut line: &[u8]) -> Result<Option<StreamEvent>, TooLong> {
        if !std::mem::replace(&mut self.has_started, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let id = self.id.take();
            return Ok(self.data.take().map(|data| StreamEvent { id, data }));
        }
        let colon = line.iter().position(|b| *b == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        let after_colon = value.strip_prefix(b":").unwrap_or(value);
        let value = after_colon.strip_prefix(b" ").unwrap_or(after_colon);
        match field {
            b"data" => self.add(value)?,
            b"id" => self.id = Some(value.to_vec()),
            _ => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_its_own_event() {
        let stream = b"id: r:1\ndata: a\n\ndata: b\n\nid: r:2\n\ndata: c\nid:r:3\n\n";
        let event = |id: Option<&str>, data: &str| StreamEvent {
            id: id.map(|id| id.as_bytes().to_vec()),
            data: data.as_bytes().to_vec(),
        };
        let mut events = VecDeque::new();
        Events::default().push_events(stream, &mut events).unwrap();
        assert_eq!(events, [event(Some("r:1"), "a"), event(None, "b"), event(Some("r:3"), "c")]);
    }
}
