//! Keeps memory equal to the bucket.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::Sequence;
use tokio::time::timeout_at;

use super::Shared;
use crate::Unavailable;
use crate::consumer::ConsumedMessage;
use crate::feed::{Feed, FeedItem};
use crate::topology::{self, REGISTRY_PREFIX, REGISTRY_STREAM};

/// Applies every entry of the stream's leader to memory; returns the feed of later changes.
pub(super) async fn load(shared: &Shared) -> Result<Feed, Unavailable> {
    let deadline = shared.record.deadline();
    let connection = shared.record.connection();
    let info = topology::info(connection, REGISTRY_STREAM, deadline)
        .await?
        .ok_or(Unavailable::new("the registry is missing"))?;
    let record = shared.record.clone();
    let mut feed = Feed::new(record, REGISTRY_STREAM.to_owned(), Sequence(0));
    let last = Sequence(info.state.last_seq);
    let mut is_loaded = info.state.messages == 0;
    let loading = async {
        while !is_loaded {
            if let FeedItem::Message(message) = feed.next().await {
                apply(shared, &message);
                is_loaded = is_end(shared, &message, last).await?;
            }
        }
        Ok::<_, Unavailable>(())
    };
    let late = Unavailable::new("loading the registry timed out");
    timeout_at(deadline, loading).await.map_err(|_| late)??;
    shared.is_fresh.store(true, Ordering::Relaxed);
    Ok(feed)
}

/// Whether memory has every entry up to `last`, which the leader returned before the read. A consumer's pending count is that of its
/// replica, which may lag; the leader decides.
async fn is_end(shared: &Shared, read: &ConsumedMessage, last: Sequence) -> Result<bool, Unavailable> {
    if read.sequence >= last {
        return Ok(true);
    }
    if read.pending > 0 {
        return Ok(false);
    }
    // The last entry may have been erased since.
    let next = shared.record.next_on_leader(REGISTRY_STREAM, read.sequence);
    Ok(next.await?.is_none())
}

/// Applies changes without end.
pub(super) async fn keep(shared: Arc<Shared>, mut feed: Feed) {
    loop {
        match feed.next().await {
            FeedItem::Started => shared.is_fresh.store(true, Ordering::Relaxed),
            FeedItem::Message(message) => apply(&shared, &message),
            FeedItem::Lost(unavailable) => {
                if shared.is_fresh.swap(false, Ordering::Relaxed) {
                    tracing::warn!(%unavailable, "the registry receives no changes");
                }
            }
        }
    }
}

fn apply(shared: &Shared, message: &ConsumedMessage) {
    if let Some(key) = message.message.subject.strip_prefix(REGISTRY_PREFIX) {
        shared.apply(key, message.sequence, &message.message.payload);
    }
}
