//! Projects only the commits that a test selects.

use std::collections::HashMap;

use domain::{Partition, Sequence};
use event_log::{Record, StoredCommit};
use read_model::ReadModel;
use read_model::projections::conversations::lease::{self, Checkpoint, Holder};
use read_model::projections::conversations::{Batch, Item, apply};
use tokio::sync::Mutex;
use wire::token::RecordId;

/// The TTL of leases, in ms.
const LEASE_TTL_MS: u64 = 3_600_000;

/// The holder of all partitions.
pub(crate) struct Projection {
    record: RecordId,
    read_model: ReadModel,
    checkpoints: Mutex<HashMap<Partition, Checkpoint>>,
}

impl Projection {
    pub(crate) async fn new(record: &Record, read_model: &ReadModel) -> Self {
        let holder = Holder("test".to_owned());
        lease::ensure(read_model, record.partitions()).await.unwrap();
        let mut checkpoints = HashMap::new();
        for partition in (0..record.partitions()).map(Partition) {
            let taken = lease::take(read_model, partition, &holder, LEASE_TTL_MS).await.unwrap();
            checkpoints.insert(partition, taken.unwrap());
        }
        Self { record: record.id(), read_model: read_model.clone(), checkpoints: Mutex::new(checkpoints) }
    }

    /// Projects consecutive commits of one conversation. They follow the ones from before.
    pub(crate) async fn apply(&self, commits: &[StoredCommit]) {
        let Some(first) = commits.first() else { return };
        let mut checkpoints = self.checkpoints.lock().await;
        let checkpoint = checkpoints.get_mut(&first.position.partition).unwrap();
        // Checkpoints only need to increase, so that conversations can be projected one by one.
        let last = Sequence(checkpoint.sequence.0 + 1);
        let batch = Batch {
            record: self.record,
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
