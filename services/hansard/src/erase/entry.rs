//! What a receipt says of one erased conversation: where and when, and nothing of what was said in it.

use domain::{ConversationKey, Head, Position, Timestamp};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An erased conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Entry {
    /// Its tenant.
    pub tenant: String,
    /// Its id.
    pub conversation: String,
    /// The version of its tombstone: so many events it came to, with those before a fork.
    pub version: u64,
    /// How many commits it came to, the tombstone among them.
    pub commits: u64,
    /// The chain over all of them, in hexadecimal digits: it proves that a copy is, or is not, what was erased.
    pub chain: String,
    /// When the tombstone was recorded, as RFC 3339 writes it.
    pub erased_at: String,
    /// Where the tombstone stands: the partition.
    pub partition: u16,
    /// Where the tombstone stands: the stream's sequence.
    pub sequence: u64,
}

pub(super) fn entry(key: &ConversationKey, head: &Head, position: Position) -> Entry {
    Entry {
        tenant: key.tenant.as_str().to_owned(),
        conversation: key.conversation.as_str().to_owned(),
        version: head.version.0,
        commits: head.totals.commits,
        chain: head.chain.to_string(),
        erased_at: rfc3339(head.recorded_at),
        partition: position.partition.0,
        sequence: position.sequence.0,
    }
}

/// A time as RFC 3339 writes it; one that no year of four digits has is empty.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(time.0.into()).ok();
    time.and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}
