//! Keeps memory equal to the bucket.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use event_log::{BucketChange, BucketChanges, BucketEntry, Unavailable};

use crate::Shared;

/// Applies every entry of the bucket's leader to memory; returns the later changes.
pub(crate) async fn load(shared: &Shared) -> Result<BucketChanges, Unavailable> {
    let changes = shared.bucket.load(|entry| apply(shared, &entry)).await?;
    shared.is_fresh.store(true, Ordering::Relaxed);
    Ok(changes)
}

/// Applies changes without end.
pub(crate) async fn keep(shared: Arc<Shared>, mut changes: BucketChanges) {
    loop {
        match changes.next().await {
            BucketChange::Started => shared.is_fresh.store(true, Ordering::Relaxed),
            BucketChange::Entry(entry) => apply(&shared, &entry),
            BucketChange::Lost(unavailable) => {
                if shared.is_fresh.swap(false, Ordering::Relaxed) {
                    tracing::warn!(%unavailable, "the registry receives no changes");
                }
            }
        }
    }
}

fn apply(shared: &Shared, entry: &BucketEntry) {
    shared.apply(&entry.key, entry.revision, &entry.value);
}
