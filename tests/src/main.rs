//! The `hansard` binary, for tests to run: the same entry, built with the same features as the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    hansard::main_with_args(std::env::args_os())
}
