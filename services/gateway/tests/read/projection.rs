//! Projects the commits that a test names, and no others.

use std::collections::HashMap;

use domain::{Partition, Sequence};
use event_log::{Record, StoredCommit};
use read_model::ReadModel;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::projections::conversations::{Batch, Item, apply};
use tokio::sync::Mutex;

/// How long the leases of a test hold, in milliseconds.
const LEASE_TTL_MS: u64 = 3_600_000;

/// The holder of all partitions.
pub(crate) struct Projection {
    read_model: ReadModel,
    checkpoints: Mutex<HashMap<Partition, Checkpoint>>,
}

impl Projection {
    pub(crate) async fn new(record: &Record, read_model: &ReadModel) -> Self {
        let holder = Holder("test".to_owned());
        lease::ensure(read_model, record.partitions())
            .await
            .unwrap();
        let mut checkpoints = HashMap::new();
        for partition in (0..record.partitions()).map(Partition) {
            let taken = lease::take(read_model, partition, &holder, LEASE_TTL_MS)
                .await
                .unwrap();
            checkpoints.insert(partition, taken.unwrap());
        }
        Self {
            read_model: read_model.clone(),
            checkpoints: Mutex::new(checkpoints),
        }
    }

    /// Projects successive commits of one conversation, which follow those that were projected before.
    pub(crate) async fn apply(&self, commits: &[StoredCommit]) {
        let Some(first) = commits.first() else { return };
        let mut checkpoints = self.checkpoints.lock().await;
        let checkpoint = checkpoints.get_mut(&first.position.partition).unwrap();
        // Only the order of checkpoints counts here, so that conversations can be projected one by one.
        let last = Sequence(checkpoint.sequence.0 + 1);
        let batch = Batch {
            lease: checkpoint.lease,
            previous: checkpoint.sequence,
            last,
            items: commits.iter().map(item).collect(),
        };
        let applied = apply(&self.read_model, &[batch]).await.unwrap();
        assert!(applied.parked.is_empty(), "{applied:?}");
        checkpoint.sequence = last;
    }
}

fn item(commit: &StoredCommit) -> Item {
    Item::Commit(Box::new(commit.clone()))
}
