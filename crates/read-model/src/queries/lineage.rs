//! Reads the ancestors of a fork and the events that it inherits from them, in one statement and one snapshot.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{EventKind, ForkPoint, TenantAccess, Version};

use super::EVENTS_PER_READ_MAX;
use super::events_of_ranges::HeadsAndEvents;
use super::head_and_events::kind_codes;
use crate::arguments::{arguments, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Which inherited events to read with a lineage, newest first. The default reads none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InheritedQuery<'q> {
    /// The first version.
    pub from: Version,
    /// The last version, inclusive.
    pub to: Version,
    /// Only events of these kinds; empty: all kinds. The statement has no index for kinds: see [`super::is_rare`].
    pub kinds: &'q [EventKind],
    /// Maximum number of events, capped at [`EVENTS_PER_READ_MAX`]. Conversations behind this many inherited versions of nearer
    /// ones are not searched.
    pub limit: u32,
    /// The read ends with the event whose bytes make the sum reach this limit.
    pub bytes_max: u64,
}

/// The ancestors of a fork with the fork point `from`, and inherited events. The heads are those of the parent and its further
/// ancestors, in this order, at most [`FORK_DEPTH_MAX`]; the list ends before the first one without a row. Rows that are behind
/// can lack some of the events.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn lineage(
    model: &ReadModel,
    access: &TenantAccess,
    from: &ForkPoint,
    inherited: InheritedQuery<'_>,
) -> Result<HeadsAndEvents, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            from.conversation.as_str(),
            FORK_DEPTH_MAX.cast_signed(),
            signed(from.version.min(inherited.to).0),
            signed(inherited.from.0),
            i64::from(inherited.limit.min(EVENTS_PER_READ_MAX)),
            kind_codes(inherited.kinds),
            signed(inherited.bytes_max),
        ]
    };
    let rows = model.read(access, include_str!("lineage.sql"), arguments);
    HeadsAndEvents::from_rows(&rows.await?, access)
}
