//! The read models: rows in Postgres, computed from the record. The only importer of sqlx.
//!
//! - [`queries`] read. Each takes the tenant that authentication granted; row-level security hides the rows of other
//!   tenants from its connection.
//! - [`projections`] write a batch of commits and its checkpoint in one transaction.
//! - [`schemas`] creates a new schema beside the live one, compares both and switches to it.
//!
//! The record is the only source of rows, so they can be rebuilt. Logs and errors contain tables, keys and codes, never
//! other values of rows.

mod arguments;
mod certificates;
mod config;
mod connect_options;
mod connections;
mod database_url;
mod day;
mod error;
mod health;
mod live;
mod migrations;
mod model;
mod outcome_code;
mod owner_text;
mod pg_timestamp;
pub mod projections;
mod purpose_code;
pub mod queries;
mod reader_role;
mod refusal;
mod row;
mod row_security;
mod schema;
mod schema_status;
pub mod schemas;
mod server_version;
mod session;
mod session_settings;
mod sqlstate;
mod status_code;
mod term_key;

pub use config::{
    CONNECTIONS_MAX, ReadModelConfig, SHARD_NAME_BYTES_MAX, SHARD_TENANTS_MAX, SHARDS_MAX, ShardConfig, TIMEOUT_MS_MAX,
};
pub use day::{Day, DayRange, DayRangeError, USAGE_DAYS_MAX};
pub use error::{RETRY_AFTER_MS, ReadModelError};
pub use live::{LIVE_SCHEMA_TTL, SchemaName};
pub use migrations::{Compatibility, Migrations};
pub use model::shards;
pub use model::{
    REPLICA_LAG_MS_MAX, REPLICA_LAG_MS_MIN, REPLICAS_MAX, ReadModel, ReplicaStatus, ReplicaUse,
    ReplicatedReadModelConfig, replica_status, server_name,
};
pub use queries::{
    ACTIVE_RUNS_PER_READ_MAX, ActiveRunRow, CONVERSATIONS_PER_READ_MAX, CommitRow, Direction, EVENTS_PER_READ_MAX,
    EventQuery, ExpiredConversation, ExpiredPage, ExpiryRule, FORKS_PER_READ_MAX, ForkRow, KEPT_PER_OWNER_MAX,
    ListCursor, ListFilter, ListQuery, OWNERS_PER_READ_MAX, SURPLUS_PER_OWNER_MAX, USAGE_ROWS_MAX, UsageDay,
    active_runs, conversation, events, expired_conversations, find_commit, forks, head_and_events, list_conversations,
    parents_of_forks, usage_by_day,
};
pub use reader_role::READER_ROLE;
pub use row::{EventRow, HeadRow};
pub use schema_status::{LiveSchema, SchemaStatus, schema_status};
