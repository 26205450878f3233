//! Leases and epochs: only one of two projectors writes.

use domain::{Partition, Sequence};
use read_model::projections::conversations::lease::{self, Epoch, Holder};
use read_model::projections::conversations::{ApplyError, Batch, apply};

use crate::fixture::{Author, Projection, RECORD, take};

fn holder(name: &str) -> Holder {
    Holder(name.to_owned())
}

#[tokio::test]
async fn a_zombie_writes_nothing() {
    let mut old = Projection::new().await;
    let mut author = Author::new("c");
    old.apply(vec![author.begin(1)]).await;
    // The holder freezes, its lease expires, and another projector takes it.
    lease::renew(&old.model, &[old.checkpoint.lease], 0).await.unwrap();
    let taken = take(&old.model, 0, "b").await.unwrap();
    assert_eq!(taken.lease.epoch, Epoch(old.checkpoint.lease.epoch.0 + 1));
    assert_eq!(taken.sequence, Sequence(1));

    let item = author.say(2, "late");
    let refused = old.try_apply(vec![item.clone()]).await.unwrap_err();
    assert_eq!(refused, ApplyError::Fenced(vec![taken]));
    assert_eq!(old.row(&author).await.unwrap().head.version.0, 1);
    assert!(lease::renew(&old.model, &[old.checkpoint.lease], 5_000).await.unwrap().is_empty());

    let mut new = Projection { model: old.model.clone(), checkpoint: taken };
    new.apply(vec![item]).await;
    assert_eq!(&old.row(&author).await.unwrap().head, author.head());
}

#[tokio::test]
async fn a_batch_is_written_once() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    let batch = projection.batch(vec![author.begin(4), author.say(7, "x")]);
    projection.apply(batch.items.clone()).await;
    let again = apply(&projection.model, &[batch]).await.unwrap_err();
    assert_eq!(again, ApplyError::Fenced(vec![projection.checkpoint]));
    assert_eq!(projection.checkpoint.sequence, Sequence(7));
}

#[tokio::test]
async fn one_fenced_partition_rejects_the_transaction() {
    let projection = Projection::new().await;
    let other = take(&projection.model, 1, "a").await.unwrap();
    let mut author = Author::new("c");
    let good = projection.batch(vec![author.begin(1)]);
    let bad = Batch { record: RECORD, lease: other.lease, previous: Sequence(5), last: Sequence(6), items: vec![] };
    let refused = apply(&projection.model, &[bad, good.clone()]).await.unwrap_err();
    assert_eq!(refused, ApplyError::Fenced(vec![other]));
    apply(&projection.model, &[good]).await.unwrap();
    let checkpoints = lease::checkpoints(&projection.model).await.unwrap();
    let sequences: Vec<u64> = checkpoints.iter().map(|one| one.sequence.0).collect();
    assert_eq!(sequences, [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[tokio::test]
async fn leases_are_taken_renewed_and_released() {
    let projection = Projection::new().await;
    let model = &projection.model;
    assert_eq!(take(model, 0, "b").await, None);
    let group = lease::heartbeat(model, &holder("a"), 5_000).await.unwrap();
    assert_eq!((group.projectors, group.free.len()), (1, 7));
    let group = lease::heartbeat(model, &holder("b"), 5_000).await.unwrap();
    assert_eq!((group.projectors, group.free.first()), (2, Some(&Partition(1))));
    lease::release(model, &[projection.checkpoint.lease]).await.unwrap();
    lease::leave(model, &holder("a")).await.unwrap();
    let group = lease::heartbeat(model, &holder("b"), 5_000).await.unwrap();
    assert_eq!((group.projectors, group.free.len()), (1, 8));
    let taken = take(model, 0, "b").await.unwrap();
    // The previous holder cannot release the lease.
    lease::release(model, &[projection.checkpoint.lease]).await.unwrap();
    assert_eq!(lease::renew(model, &[taken.lease], 5_000).await.unwrap(), [taken]);
    assert_eq!(take(model, 0, "c").await, None);
    lease::ensure(model, 9).await.unwrap();
    assert_eq!(lease::checkpoints(model).await.unwrap().len(), 9);
}
