//! One JSON object whose members are conversations, read member by member: no more than one is in memory.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Entry, Outlet};
use crate::import::chitchat;

/// Reads until the end, or until the outlet wants no more.
///
/// # Errors
/// Where the document stops being JSON; never its content.
pub(super) fn read(input: impl Read, outlet: Outlet) -> Result<(), String> {
    let bytes_read = Rc::new(Cell::new(0));
    let enough = Rc::new(Cell::new(outlet.is_full()));
    if enough.get() {
        return Ok(());
    }
    let counted = Counted {
        input,
        bytes_read: Rc::clone(&bytes_read),
    };
    let members = Members {
        outlet,
        bytes_read,
        enough: Rc::clone(&enough),
    };
    let mut document = serde_json::Deserializer::from_reader(counted);
    match members
        .deserialize(&mut document)
        .and_then(|()| document.end())
    {
        Ok(()) => Ok(()),
        Err(_) if enough.get() => Ok(()),
        Err(error) => Err(format!(
            "at line {}, column {}",
            error.line(),
            error.column()
        )),
    }
}

struct Counted<R> {
    input: R,
    bytes_read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.bytes_read
            .set(self.bytes_read.get() + u64::try_from(bytes).unwrap_or(0));
        Ok(bytes)
    }
}

struct Members {
    outlet: Outlet,
    bytes_read: Rc<Cell<u64>>,
    enough: Rc<Cell<bool>>,
}

impl<'de> DeserializeSeed<'de> for Members {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
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
            let dialogue = chitchat::parse(&id, text.get());
            let bytes_read = self.bytes_read.get();
            if !self.outlet.hand_on(Entry {
                number,
                bytes_read,
                dialogue,
            }) {
                self.enough.set(true);
                // The only way out of the middle of a document; the flag tells it from a failure.
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}
