//! Reads small input files of commands.

use std::io::{Read as _, stdin};
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

/// Reads text of at most `bytes_max` bytes from a file, or from standard input if its name is `-`.
pub(super) fn text_or_stdin(file: &Path, bytes_max: u64) -> anyhow::Result<String> {
    if file != Path::new("-") {
        return text(file, bytes_max);
    }
    let mut text = String::new();
    stdin().lock().take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    let is_longer = u64::try_from(text.len())? > bytes_max;
    anyhow::ensure!(!is_longer, UsageError(format!("standard input has more than {bytes_max} bytes")));
    Ok(text)
}
