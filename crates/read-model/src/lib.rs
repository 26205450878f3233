//! The read models: what readers need of the record, as rows of Postgres. The only importer of sqlx.
//!
//! - [`queries`] read; each takes the tenant that authentication granted, and runs on a connection that sees no other
//!   tenant's rows, whatever its statement says.
//! - [`projections`] write: a batch of commits, in one transaction with its checkpoint.
//! - [`schemas`] are made anew beside the live one, compared with it, and take its place.
//!
//! Rows come from the record alone and can be rebuilt from it. Nothing of what a row holds reaches a log or an error:
//! those name tables, keys and codes.

mod certificates;
mod config;
mod connections;
mod day;
mod error;
mod live;
mod model;
mod moment;
pub mod projections;
mod purpose_code;
pub mod queries;
mod reader_role;
mod row;
mod row_security;
mod schema;
mod schema_standing;
pub mod schemas;
mod status_code;

pub use config::{CONNECTIONS_MAX, ReadModelConfig, TIMEOUT_MS_MAX};
pub use day::{Day, DayRange, DayRangeError, USAGE_DAYS_MAX};
pub use error::{RETRY_AFTER_MS, ReadModelError};
pub use live::{LOOK_INTERVAL, SchemaName};
pub use model::ReadModel;
pub use queries::{
    ACTIVE_RUNS_PER_READ_MAX, ActiveRunRow, CONVERSATIONS_PER_READ_MAX, CommittedRow, Direction,
    EVENTS_PER_READ_MAX, EventQuery, Expired, ExpiredConversation, ExpiryRule, FORKS_PER_READ_MAX,
    ForkRow, KEPT_PER_OWNER_MAX, ListCursor, ListFilter, ListQuery, OWNERS_PER_READ_MAX,
    SURPLUS_PER_OWNER_MAX, USAGE_ROWS_MAX, UsageDay, active_runs, committed, conversation, events,
    expired, forked, forks, list_conversations, standing_with_events, usage_by_day,
};
pub use reader_role::READER_ROLE;
pub use row::{EventRow, Standing};
pub use schema_standing::{LiveSchema, SchemaStanding, schema_standing};
