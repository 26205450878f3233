//! The projector: builds the read models from the record.
//!
//! Data comes from the record, a partition at a time (`reader`), and goes to Postgres, several partitions in one
//! transaction (`projection`). Who projects which partition is settled by leases (`leases`); what cannot be projected
//! is parked with its conversation and tried again when its partition is taken (`parked`). It takes no calls.

pub mod config;
mod gathered;
mod leases;
pub mod metrics;
pub mod parked;
mod progress;
mod projection;
mod reader;
pub mod run;

pub use config::ProjectorConfig;
pub use run::{ProjectorError, Running, start};
