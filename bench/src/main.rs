//! The entry point of the bench.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::main_with_args(std::env::args_os())
}
