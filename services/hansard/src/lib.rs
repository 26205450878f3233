//! The binary: every role and the operators' commands, one file a command.
//!
//! [`main_with_args`] is the whole program; it reads the arguments, runs one command and turns what became of it into
//! an [`exit::Exit`]. Standard output is for results, standard error for progress and errors. Commands reach the
//! system by its public doors (gRPC), but for those that start it, `bootstrap`, and those of operators (`status`, `watch`,
//! `parked`, `tail`, `replay`, `archive`, `erase`, `backup`, `restore`), which reach NATS and Postgres themselves.

mod allocator;
pub mod backup;
mod cli;
pub mod client;
pub mod commands;
pub mod console;
pub mod erase;
pub mod exit;
mod ids;
pub mod import;
pub mod progress;
pub mod selection;
pub mod status;
pub mod table;
pub mod view;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::exit::Exit;

/// The command line with the help of every command.
#[must_use]
pub fn command() -> clap::Command {
    cli::Cli::command()
}

/// Runs the program with these arguments, its own name the first of them.
pub fn main_with_args(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_program(arguments, async |cli: cli::Cli| cli.command.run().await)
}

/// Runs a command-line program: parses the arguments, runs it on a new async runtime, maps its outcome to an exit code.
pub fn run_program<P: Parser, E: Into<ExitCode>>(
    arguments: impl IntoIterator<Item = OsString>,
    run: impl AsyncFnOnce(P) -> anyhow::Result<E>,
) -> ExitCode {
    let parsed = match P::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // A closed pipe is the only way for this to fail, and then nobody reads it.
            drop(error.print());
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
            .into();
        }
    };
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| {
            let outcome = runtime.block_on(run(parsed));
            // A blocking read of standard input cannot be interrupted, so nothing waits for it.
            runtime.shutdown_background();
            outcome
        });
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => exit::of_error(P::command().get_name(), &error).into(),
    }
}
