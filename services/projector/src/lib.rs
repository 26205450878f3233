//! The projector: computes the rows of the read models from the record. It serves no calls.
//!
//! A reader per partition reads the record (`reader`). Workers write batches of several partitions to Postgres in one
//! transaction (`projection`). Leases assign partitions to projectors (`leases`). A commit that cannot be projected parks its
//! conversation, and is retried when a projector takes the partition (`parked`).
//!
//! The projector writes the live schema and follows a switch (`project`); [`rebuild`] creates another schema. One of the
//! projectors also writes the log of calls to model servers (`provider_logs`).
//!
//! The search is a projection of its own (`projection_kind`), with the same readers and workers. It never delays the rows of
//! conversations. `reindex` indexes agents again and makes missing filters.

mod assignment;
pub mod config;
mod dependencies;
mod leases;
pub mod metrics;
pub mod parked;
mod parked_requests;
mod pending;
mod progress;
mod project;
mod projection;
mod projection_kind;
mod provider_logs;
mod reader;
pub mod rebuild;
mod reindex;
pub mod run;

pub use config::ProjectorConfig;
pub use dependencies::ProjectionDependencies;
pub use project::project;
pub use projection_kind::ProjectionKind;
pub use run::{Running, start};
