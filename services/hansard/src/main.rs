//! The entry point of the binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    hansard::main_with_args(std::env::args_os())
}
