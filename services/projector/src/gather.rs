//! What a transaction is made of: messages by partition, each partition's in order. Pure.

use std::collections::HashMap;

use domain::{Partition, Sequence};
use read_model::projections::conversations::Batch;
use read_model::projections::conversations::lease::Lease;

use crate::follower::Ready;

/// The checkpoints of a lane's partitions.
pub(crate) type Checkpoints = HashMap<Partition, (Lease, Sequence)>;

/// Messages that wait for their transaction.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// In the order in which they came.
    pub(crate) messages: Vec<Ready>,
    /// How many rows of events they make.
    pub(crate) rows: usize,
}

impl Gathered {
    /// Adds a message that is read under a lease of the lane's; another is dropped.
    pub(crate) fn add(&mut self, ready: Ready, checkpoints: &Checkpoints) {
        let lease = checkpoints.get(&ready.lease.partition).map(|(lease, _)| *lease);
        if lease == Some(ready.lease) {
            self.rows += ready.rows;
            self.messages.push(ready);
        }
    }

    /// Drops what belongs to a partition.
    pub(crate) fn leave_out(&mut self, partition: Partition) {
        self.messages.retain(|ready| ready.lease.partition != partition);
        self.rows = self.messages.iter().map(|ready| ready.rows).sum();
    }

    /// The batches, taken out of the messages; what is left of those tells of them.
    pub(crate) fn batches(&mut self, checkpoints: &Checkpoints) -> Vec<Batch> {
        let mut batches: HashMap<Partition, Batch> = HashMap::new();
        for ready in &mut self.messages {
            let partition = ready.lease.partition;
            let Some((lease, previous)) = checkpoints.get(&partition) else {
                continue;
            };
            let batch = batches.entry(partition).or_insert_with(|| Batch {
                lease: *lease,
                previous: *previous,
                last: *previous,
                items: Vec::new(),
            });
            batch.last = ready.sequence;
            batch.items.extend(ready.item.take());
        }
        batches.into_values().collect()
    }
}
