//! The marker stream of an unfinished restore. While it exists, only the restore opens the record.

use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::{RecordError, Unavailable};
use crate::topology;

/// The stream that marks an incomplete restore.
pub(crate) const MARKER_STREAM: &str = "HANSARD_RESTORING";
/// The subject of the marker stream.
pub(crate) const MARKER_SUBJECT: &str = "hansard-restoring";
/// The name of the backup, in the marker's metadata.
pub(crate) const KEY_BACKUP: &str = "hansard_backup";

/// Fails while the server has an unfinished restore: its record is incomplete, and may have content that is erased.
pub(crate) async fn check_no_restore(connection: &Connection, deadline: Instant) -> Result<(), RecordError> {
    match marked_backup(connection, deadline).await? {
        Some(backup) => Err(RecordError::Restoring { backup }),
        None => Ok(()),
    }
}

/// The name of the backup in the marker; `None`: the server has no unfinished restore.
pub(crate) async fn marked_backup(connection: &Connection, deadline: Instant) -> Result<Option<String>, Unavailable> {
    let info = topology::info(connection, MARKER_STREAM, deadline).await?;
    Ok(info.map(|info| {
        let mut metadata = info.config.metadata;
        metadata.remove(KEY_BACKUP).unwrap_or_default()
    }))
}
