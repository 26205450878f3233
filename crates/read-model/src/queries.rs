//! The reads: one file per query, with its SQL beside it. Each takes the tenant that authentication granted, or a permission
//! to read all tenants.

mod active_runs;
mod conversation;
mod conversation_facts;
pub mod documents;
mod events_of_ranges;
mod expired;
mod find_commit;
mod forks;
mod head_and_events;
mod lineage;
mod list_conversations;
mod model_usage;
mod named_conversations;
mod provider_logs;
mod runs_by_day;
pub mod search;
mod statements;
mod storage;
mod stored_events;
mod usage_by_day;

pub use active_runs::{ACTIVE_RUNS_PER_READ_MAX, ActiveRunRow, active_runs};
pub use conversation::conversation;
pub use conversation_facts::{
    ConversationExcerpts, ConversationFacts, EVENTS_EXAMINED_MAX, EXCERPT_BYTES_MAX, RUNS_EXAMINED_MAX,
    conversation_excerpts, conversation_facts,
};
pub use events_of_ranges::{EventRange, HeadsAndEvents, RangesQuery, events_of_ranges, heads_and_events_of_ranges};
pub use expired::{
    ExpiredConversation, ExpiredPage, ExpiryRule, KEPT_PER_OWNER_MAX, OWNERS_PER_READ_MAX, SURPLUS_PER_OWNER_MAX,
    expired_conversations,
};
pub use find_commit::{CommitRow, find_commit};
pub use forks::{FORKS_PER_READ_MAX, ForkRow, forks, parents_of_forks};
pub use head_and_events::{
    Direction, EVENTS_PER_READ_MAX, EventQuery, events, head_and_events, heads_and_events, is_rare,
};
pub use lineage::{InheritedQuery, lineage};
pub use list_conversations::{CONVERSATIONS_PER_READ_MAX, ListCursor, ListFilter, ListQuery, list_conversations};
pub use model_usage::{ModelUsageDay, UsageScope, UsedTokens, model_usage_by_day, model_usage_of};
pub use named_conversations::{NAMED_PER_READ_MAX, named_conversations};
pub use provider_logs::{
    PROVIDER_LOGS_PER_READ_MAX, ProviderLogCursor, ProviderLogQuery, ProviderLogRow, provider_log, provider_logs,
};
pub use runs_by_day::{RunsDay, runs_by_day};
pub use storage::{OWNER_CONVERSATIONS_SUMMED_MAX, Storage, StorageScope, storage};
pub use stored_events::{StoredEvents, stored_events};
pub use usage_by_day::{USAGE_ROWS_MAX, UsageDay, usage_by_day};
