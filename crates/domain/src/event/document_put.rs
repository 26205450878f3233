//! A document was put.

use crate::document::DocumentName;
use crate::json::JsonText;
use crate::time::Timestamp;

/// A document has a new value. Models do not read it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentPut {
    /// Its name.
    pub name: DocumentName,
    /// Its value: JSON text, byte for byte.
    pub value: JsonText,
    /// It is read for this many seconds after the record; `None`: for ever. 1 to
    /// [`crate::bounds::DOCUMENT_TTL_SECONDS_MAX`].
    pub ttl_seconds: Option<u64>,
}

impl DocumentPut {
    /// From when on it is not read; `None`: it has no end.
    #[must_use]
    pub fn expires_at(&self, recorded_at: Timestamp) -> Option<Timestamp> {
        let ttl = i64::try_from(self.ttl_seconds?).ok()?;
        let end = recorded_at.seconds().checked_add(ttl)?;
        Timestamp::from_parts(end, recorded_at.subsecond_nanos())
    }
}
