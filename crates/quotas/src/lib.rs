//! Quotas of tenants, agents, API keys, owners and client addresses, and fair queues.
//!
//! Pure: no I/O, no clock, no lock. Times are arguments in milliseconds. Callers keep the state and apply the decisions: the
//! gateway for runs, model tokens and requests, the writer for appended bytes, the model clients for their requests.

pub mod active;
pub mod bucket;
pub mod consumer;
pub mod decision;
pub mod fair;
pub mod limits;
pub mod tokens;

pub use active::ActiveRuns;
pub use bucket::Bucket;
pub use consumer::{Consumer, Subject};
pub use decision::{Exceeded, check};
pub use fair::{Entered, FairQueue};
pub use limits::{InvalidQuota, LIMIT_MAX, LimitError, Limits, Quota, QuotaSet, Scope, ScopedQuota};
pub use tokens::{DayTokens, RowTokens};
