//! Small files that commands are given.

use std::path::Path;

use crate::exit::UsageError;

/// The text of a file of at most `bytes_max` bytes.
///
/// # Errors
/// It cannot be read, is no text, or is longer.
pub(super) fn text(file: &Path, bytes_max: u64) -> anyhow::Result<String> {
    let cannot = |error: std::io::Error| anyhow::anyhow!("cannot read {}: {error}", file.display());
    let bytes = std::fs::metadata(file).map_err(cannot)?.len();
    if bytes > bytes_max {
        let name = file.display();
        let rule = format!("{name} has {bytes} bytes: at most {bytes_max} are taken");
        return Err(UsageError(rule).into());
    }
    std::fs::read_to_string(file).map_err(cannot)
}
