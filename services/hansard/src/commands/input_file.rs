//! Reads small input files of commands.

use std::path::Path;

use crate::exit::UsageError;

/// Reads a text file of at most `bytes_max` bytes.
pub(super) fn text(file: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let unreadable = |error: std::io::Error| anyhow::anyhow!("cannot read {}: {error}", file.display());
    let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
    let name = file.display();
    let message = || format!("{name} has {bytes} bytes; the maximum is {bytes_max}");
    anyhow::ensure!(bytes <= bytes_max, UsageError(message()));
    std::fs::read_to_string(file).map_err(unreadable)
}
