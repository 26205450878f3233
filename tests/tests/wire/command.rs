//! The command line, as real processes.

mod configuration;
mod context;
mod dev;
mod history;
mod import;
