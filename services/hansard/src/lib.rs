//! The binary: all roles and commands, one file or folder per command.
//!
//! [`main_with_args`] parses the arguments, runs one command and returns its [`exit::Exit`] code. Standard output is for results,
//! standard error for progress and errors. Most commands call the services by gRPC. The roles, `dev`, `bootstrap` and the operator
//! commands (`status`, `watch`, `parked`, `tail`, `replay`, `archive`, `erase`, `backup`, `restore`) access NATS and Postgres
//! directly.

mod backup;
mod bounded_line;
mod capacity;
mod chat;
mod cli;
pub mod client;
pub mod commands;
pub mod console;
mod erase;
pub mod exit;
mod http_client;
mod ids;
pub mod import;
mod mcp;
mod printable;
pub mod progress;
mod secret_file;
mod selection;
mod status;
pub mod table;
mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use mimalloc::MiMalloc;

use crate::exit::Exit;

/// The memory allocator of every binary that links this crate.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The command line with the help of every command.
#[must_use]
pub fn command() -> clap::Command {
    cli::Cli::command()
}

/// Runs the program with these arguments; the first one is the program's name.
pub fn main_with_args(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_program(arguments, async |cli: cli::Cli| Box::pin(cli.command.run()).await)
}

/// Parses the arguments, runs the program on a new async runtime, and returns its exit code.
pub fn run_program<P: Parser, E: Into<ExitCode>>(
    arguments: impl IntoIterator<Item = OsString>,
    run: impl AsyncFnOnce(P) -> anyhow::Result<E>,
) -> ExitCode {
    let parsed = match P::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // A closed pipe is ignored.
            drop(error.print());
            return Exit::Usage.when(error.use_stderr()).into();
        }
    };
    let outcome =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(anyhow::Error::from).and_then(
            |runtime| {
                let outcome = runtime.block_on(run(parsed));
                // Does not wait for blocking reads of standard input, which cannot be interrupted.
                runtime.shutdown_background();
                outcome
            },
        );
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => exit::report_error(P::command().get_name(), &error).into(),
    }
}
