//! Reads a JSON object whose members are conversations, member by member, with one in memory.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Entry, EntrySender};
use crate::import::chitchat;

/// Reads until the end, or until the sender accepts no more entries.
///
/// # Errors
/// The position of the JSON error, without content.
pub(super) fn read(input: impl Read, sender: EntrySender) -> Result<(), String> {
    let bytes_read = Rc::new(Cell::new(0));
    let is_stopped = Rc::new(Cell::new(sender.is_full()));
    if is_stopped.get() {
        return Ok(());
    }
    let counting = CountingReader { input, bytes_read: Rc::clone(&bytes_read) };
    let members = Members { sender, bytes_read, is_stopped: Rc::clone(&is_stopped) };
    let mut document = serde_json::Deserializer::from_reader(counting);
    let read = document.deserialize_map(members).and_then(|()| document.end());
    match read {
        Err(error) if !is_stopped.get() => {
            let (line, column) = (error.line(), error.column());
            Err(format!("at line {line}, column {column}"))
        }
        _ => Ok(()),
    }
}

struct CountingReader<R> {
    input: R,
    bytes_read: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        let bytes_read = self.bytes_read.get() + u64::try_from(bytes).unwrap_or(0);
        self.bytes_read.set(bytes_read);
        Ok(bytes)
    }
}

struct Members {
    sender: EntrySender,
    bytes_read: Rc<Cell<u64>>,
    is_stopped: Rc<Cell<bool>>,
}

impl<'de> Visitor<'de> for Members {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of conversations")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let mut number = 0;
        while let Some((id, text)) = members.next_entry::<String, Box<RawValue>>()? {
            number += 1;
            let entry = Entry { number, bytes_read: self.bytes_read.get(), dialogue: chitchat::parse(&id, text.get()) };
            if !self.sender.send(entry) {
                self.is_stopped.set(true);
                // Only an error stops the parser; the flag distinguishes it from a failure.
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
