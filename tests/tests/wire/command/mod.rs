//! The command line, as real processes.

mod configuration;
mod dev;
mod import;
