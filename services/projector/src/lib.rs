//! The projector: builds the read models from the record.
//!
//! Data comes from the record, a partition at a time (`reader`), and goes to Postgres, several partitions in one
//! transaction (`projection`). Who projects which partition is settled by leases (`leases`); what cannot be projected
//! is parked with its conversation and tried again when its partition is taken (`parked`). It takes no calls.
//!
//! It projects into the schema that is live (`project`), and goes on in another when that becomes the live one; [`rebuild`]
//! makes another. Beside it, one of all projectors writes the log of model servers' calls (`provider_logs`).

pub mod config;
mod gathered;
mod leases;
pub mod metrics;
pub mod parked;
mod progress;
mod project;
mod projection;
mod provider_logs;
mod reader;
pub mod rebuild;
pub mod run;

pub use config::ProjectorConfig;
pub use project::{Means, project};
pub use run::{Running, start};
