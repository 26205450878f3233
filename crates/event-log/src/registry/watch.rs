//! Keeping memory as the bucket is.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::Sequence;
use tokio::time::timeout_at;

use super::Shared;
use crate::error::Unavailable;
use crate::feed::{Feed, FeedItem, FeedMessage};
use crate::topology::{self, REGISTRY_PREFIX, REGISTRY_STREAM};

/// Reads every entry into memory; returns the feed of those that come.
pub(super) async fn load(shared: &Shared) -> Result<Feed, Unavailable> {
    let deadline = shared.record.deadline();
    let connection = shared.record.connection();
    let info = topology::info(connection, REGISTRY_STREAM, deadline).await?;
    let info = info.ok_or(Unavailable::new("the registry is missing"))?;
    let mut feed = Feed::new(
        shared.record.clone(),
        REGISTRY_STREAM.to_owned(),
        Sequence(0),
    );
    let mut is_loaded = info.state.messages == 0;
    let loading = async {
        while !is_loaded {
            if let FeedItem::Message(message) = feed.next().await {
                apply(shared, &message);
                is_loaded = message.pending == 0;
            }
        }
    };
    let late = Unavailable::new("the registry did not load in time");
    timeout_at(deadline, loading).await.map_err(|_| late)?;
    shared.is_fresh.store(true, Ordering::Relaxed);
    Ok(feed)
}

/// Applies changes for ever.
pub(super) async fn keep(shared: Arc<Shared>, mut feed: Feed) {
    loop {
        match feed.next().await {
            FeedItem::Begun => shared.is_fresh.store(true, Ordering::Relaxed),
            FeedItem::Message(message) => apply(&shared, &message),
            FeedItem::Lost(unavailable) => {
                if shared.is_fresh.swap(false, Ordering::Relaxed) {
                    tracing::warn!(%unavailable, "the registry is not kept fresh");
                }
            }
        }
    }
}

fn apply(shared: &Shared, message: &FeedMessage) {
    if let Some(key) = message.message.subject.strip_prefix(REGISTRY_PREFIX) {
        shared.apply(key, message.sequence, &message.message.payload);
    }
}
