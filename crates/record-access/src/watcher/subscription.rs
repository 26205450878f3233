//! Subscribes to a conversation before its history is read, so that no commit is lost between them.

use domain::{ForkPoint, Position, Version};
use event_log::LiveSubscription;
use history::{Freshness, Snapshot, Target};
use wire::status::Problem;

use super::WatcherPermit;
use crate::Gateway;

/// The live commits of a conversation, and its state after they were subscribed to.
#[derive(Debug)]
pub struct Subscription {
    /// The conversation. Reads of it include every commit that was acknowledged before the subscription.
    pub(super) target: Target,
    pub(super) live: LiveSubscription,
    pub(super) forked_from: Option<ForkPoint>,
    pub(super) permit: WatcherPermit,
    /// The version of the last event.
    pub version: Version,
}

impl Subscription {
    /// Subscribes to the conversation of a target. The version is read from the leader of the stream.
    ///
    /// # Errors
    /// `OVERLOADED`: `watchers_max` is reached; the conversation does not exist, or a dependency does not answer.
    pub async fn open(gateway: &Gateway, target: Target) -> Result<Self, Problem> {
        let permit = gateway.watchers.acquire()?;
        let reader = &gateway.reader;
        // Before the subscription, which needs the partition of a hibernated conversation.
        let partition = target.deadline.record(reader.archive.partition_of(&target.key)).await?;
        let live = target.deadline.record(reader.record.live(&target.key)).await?;
        let latest = Target { freshness: Freshness::Leader, ..target.clone() };
        let snapshot = Snapshot::open(reader, &latest).await?;
        let position = snapshot.position();
        Ok(Self {
            live,
            forked_from: snapshot.forked_from().cloned(),
            permit,
            version: position.version,
            target: Target {
                freshness: Freshness::Fresh,
                fence: Some(Position { partition, sequence: position.sequence }),
                ..target
            },
        })
    }
}
