//! The reads. One file a query, its SQL beside it; each takes the tenant that authentication granted, or leave to look
//! across all of them.

mod active_runs;
mod committed;
mod conversation;
mod events_of_ranges;
mod expired;
mod forked;
mod forks;
mod lineage;
mod list_conversations;
mod model_usage;
mod provider_logs;
mod standing_with_events;
mod storage;
mod usage_by_day;

pub use active_runs::{ACTIVE_RUNS_PER_READ_MAX, ActiveRunRow, active_runs};
pub use committed::{CommittedRow, committed};
pub use conversation::conversation;
pub use events_of_ranges::{EventRange, RangesQuery, events_of_ranges};
pub use expired::{
    Expired, ExpiredConversation, ExpiryRule, KEPT_PER_OWNER_MAX, OWNERS_PER_READ_MAX,
    SURPLUS_PER_OWNER_MAX, expired,
};
pub use forked::forked;
pub use forks::{FORKS_PER_READ_MAX, ForkRow, forks};
pub use lineage::lineage;
pub use list_conversations::{
    CONVERSATIONS_PER_READ_MAX, ListCursor, ListFilter, ListQuery, list_conversations,
};
pub use model_usage::{ModelUsageDay, UsageScope, model_usage_by_day, model_usage_of};
pub use provider_logs::{
    PROVIDER_LOGS_PER_READ_MAX, ProviderLogCursor, ProviderLogQuery, ProviderLogRow, provider_log,
    provider_logs,
};
pub use standing_with_events::{
    Direction, EVENTS_PER_READ_MAX, EventQuery, events, is_rare, standing_with_events,
};
pub use storage::{OWNER_CONVERSATIONS_SUMMED_MAX, Storage, StoredBy, storage};
pub use usage_by_day::{USAGE_ROWS_MAX, UsageDay, usage_by_day};

use sqlx::postgres::PgArguments;
use sqlx::{Arguments as _, Encode, Postgres, Type};

/// Adds an argument whose encoding cannot fail: numbers, texts, byte strings, times, and lists of them.
pub(crate) fn bind<'q, T>(mut arguments: PgArguments, value: T) -> PgArguments
where
    T: Encode<'q, Postgres> + Type<Postgres>,
{
    // A value over 2 GiB is the only failure; the statement then lacks an argument and Postgres refuses it.
    let _ = arguments.add(value);
    arguments
}

/// A number as Postgres counts: no further than it can.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
