//! Postgres: its data folder, its configuration, its process, its databases.

mod config;
mod data_folder;
mod database;
mod server;

pub use config::{PostgresConfig, Profile};
pub use server::PostgresServer;

/// The superuser that owns all, and that clients connect as.
pub(crate) const USER: &str = "hansard";
