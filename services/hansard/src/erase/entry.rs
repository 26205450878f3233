//! The entry of an erasure receipt for one conversation: position and time, no content.

use domain::{ConversationKey, Head, Position, Timestamp};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An erased conversation in a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) tenant: String,
    /// The id of the conversation.
    pub(crate) conversation: String,
    /// The version of the tombstone: the number of events, including inherited ones.
    pub(crate) version: u64,
    /// The number of commits, including the tombstone.
    pub(crate) commits: u64,
    /// The hash chain over all commits, hexadecimal. It proves whether a copy equals what was erased.
    pub(crate) chain: String,
    /// The time of the tombstone, RFC 3339.
    pub(crate) erased_at: String,
    /// The partition of the tombstone.
    pub(crate) partition: u16,
    /// The stream sequence of the tombstone.
    pub(crate) sequence: u64,
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

/// Formats a time as RFC 3339; empty if its year does not have four digits.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(time.0.into()).ok();
    time.and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}
