//! The `hansard` binary for tests: the same entry point, built with the features of the tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    hansard::main_with_args(std::env::args_os())
}
