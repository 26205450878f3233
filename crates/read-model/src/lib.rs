//! The read models: what readers need of the record, as rows of Postgres. The only importer of sqlx.
//!
//! - [`queries`] read; each takes the tenant that authentication granted.
//! - [`projections`] write: a batch of commits, in one transaction with its checkpoint.
//!
//! Rows come from the record alone and can be rebuilt from it. Nothing of what a row holds reaches a log or an error:
//! those name tables, keys and codes.

mod config;
mod connections;
mod error;
mod model;
mod moment;
pub mod projections;
pub mod queries;
mod row;
mod schema;
mod status_code;

pub use config::{CONNECTIONS_MAX, ReadModelConfig, TIMEOUT_MS_MAX};
pub use error::{RETRY_AFTER_MS, ReadModelError};
pub use model::{CONVERSATIONS_SCHEMA, ReadModel};
pub use queries::{
    CONVERSATIONS_PER_READ_MAX, CommittedRow, Direction, EVENTS_PER_READ_MAX, EventQuery,
    ListCursor, ListFilter, ListQuery, committed, conversation, events, list_conversations,
    standing_with_events,
};
pub use row::{EventRow, Standing};
