//! Postgres: data folder, configuration, process, databases.

mod config;
mod data_folder;
mod database;
mod server;

pub use config::{PostgresConfig, Profile};
pub use server::PostgresServer;

/// The superuser. Clients connect as this user.
pub(crate) const USER: &str = "hansard";
