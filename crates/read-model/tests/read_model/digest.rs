//! The digest of a partition: the stored digest always equals the digest of the rows.

use read_model::projections::conversations::Item;
use read_model::projections::conversations::parking::{self, RetryOutcome};
use read_model::projections::conversations::verification::{PartitionDigest, digests, rewrite_digest};

use crate::fixture::{Author, Projection, execute, sequence};

async fn first_digest(projection: &Projection) -> PartitionDigest {
    digests(&projection.model).await.unwrap().0[0]
}

/// Checks that the stored digest equals that of the rows, and the number of conversations.
async fn check(projection: &Projection, conversations: u64) -> PartitionDigest {
    let digest = first_digest(projection).await;
    assert_eq!(digest.conversations, conversations);
    assert_eq!(digest.kept, digest.rows);
    assert_eq!(digest.kept.is_empty(), conversations == 0);
    assert_eq!(digest.checkpoint, projection.checkpoint.sequence);
    digest
}

fn erasure() -> Vec<domain::Fact> {
    vec![domain::Fact::Lifecycle(domain::Lifecycle::ConversationErased)]
}

#[tokio::test]
async fn every_commit_updates_the_digest() {
    let mut projection = Projection::new().await;
    check(&projection, 0).await;
    let (mut a, mut b) = (Author::new("a"), Author::new("b"));
    let items = vec![a.begin(1), b.begin(2), a.say(3, "x"), a.say(4, "y")];
    projection.apply(items).await;
    let first = check(&projection, 2).await;
    projection.apply(vec![b.say(9, "z")]).await;
    let second = check(&projection, 2).await;
    assert_ne!(first.kept, second.kept);
    // Created, continued and erased in one batch; erased in a later batch.
    let mut c = Author::new("c");
    let items = vec![c.begin(10), c.say(11, "x"), c.commit(12, erasure())];
    projection.apply(items).await;
    check(&projection, 3).await;
    projection.apply(vec![a.say(13, "x"), a.commit(14, erasure())]).await;
    let erased = check(&projection, 3).await;
    // The same record, from which the commits of erased conversations were purged.
    let mut rebuilt = Projection::new().await;
    let mut again = Author::new("b");
    let mut items = vec![again.begin(2), again.say(9, "z")];
    for (author, at) in [(&mut c, 12), (&mut a, 14)] {
        items.push(tombstone_of(author, at));
    }
    rebuilt.apply(items).await;
    assert_eq!(check(&rebuilt, 3).await, erased);
}

/// The tombstone, which a purge keeps.
fn tombstone_of(author: &mut Author, at: u64) -> Item {
    let mut twin = Author::new(author.key.conversation.as_str());
    match at {
        12 => drop([twin.begin(10), twin.say(11, "x")]),
        _ => drop([twin.begin(1), twin.say(3, "x"), twin.say(4, "y"), twin.say(13, "x")]),
    }
    twin.commit(at, erasure())
}

#[tokio::test]
async fn parked_commits_count_when_they_are_written() {
    let mut projection = Projection::new().await;
    let (mut bad, mut good) = (Author::new("bad"), Author::new("good"));
    let begun = vec![bad.begin(1), good.begin(2), bad.say(3, "a")];
    projection.apply(begun).await;
    let hidden = [bad.say(4, "b"), bad.say(6, "c")];
    let items = vec![bad.garbage(4), good.say(5, "d"), hidden[1].clone()];
    projection.apply(items).await;
    check(&projection, 2).await;
    projection.apply(vec![good.say(7, "e")]).await;
    check(&projection, 2).await;
    let retried = parking::retry(&projection.model, &bad.key, &hidden).await;
    assert_eq!(retried.unwrap(), RetryOutcome::Freed);
    check(&projection, 2).await;
}

#[tokio::test]
async fn dropped_and_erased_commits_leave_no_trace() {
    let mut projection = Projection::new().await;
    let (mut bad, mut erased) = (Author::new("bad"), Author::new("erased"));
    projection.apply(vec![bad.begin(1), erased.begin(2)]).await;
    for author in [&mut bad, &mut erased] {
        let at = projection.checkpoint.sequence.0 + 1;
        author.say(at, "hidden");
        let later = author.say(at + 1, "later");
        projection.apply(vec![author.garbage(at), later]).await;
    }
    check(&projection, 2).await;
    projection.apply(vec![erased.commit(9, erasure())]).await;
    check(&projection, 2).await;
    let model = projection.model.clone();
    let waiting = parking::waiting(&model, &bad.key, 10).await.unwrap();
    assert!(parking::drop_commit(&model, &bad.key, waiting[0]).await.unwrap());
    let mut twin = Author::new("bad");
    drop([twin.begin(1), twin.say(waiting[0].0, "hidden")]);
    let later = twin.say(waiting[1].0, "later");
    assert_eq!(sequence(&later), waiting[1]);
    let retried = parking::retry(&model, &bad.key, &[later]).await;
    assert_eq!(retried.unwrap(), RetryOutcome::Freed);
    check(&projection, 2).await;
    projection.apply(vec![twin.say(10, "on")]).await;
    check(&projection, 2).await;
}

#[tokio::test]
async fn a_changed_row_differs_until_the_digest_is_rewritten() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = Author::new("a");
    projection.apply(vec![author.begin(1), author.say(2, "x")]).await;
    let change = "UPDATE conversations_v1.conversation SET version = 1";
    execute(&url, change).await;
    let digest = first_digest(&projection).await;
    assert_ne!(digest.kept, digest.rows);
    rewrite_digest(&projection.model, digest.partition).await.unwrap();
    check(&projection, 1).await;
}

#[tokio::test]
async fn the_migration_computes_the_digest_of_existing_rows() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let (mut a, mut b) = (Author::new("a"), Author::new("b"));
    projection.apply(vec![a.begin(1), b.begin(2), a.say(3, "ä")]).await;
    let before = check(&projection, 2).await;
    let before_migration = "ALTER TABLE conversations_v1.checkpoint DROP COLUMN digest;
        DROP FUNCTION hansard.standing_digest;
        DELETE FROM hansard.migration WHERE version = 6";
    execute(&url, before_migration).await;
    projection.model.migrate().await.unwrap();
    assert_eq!(check(&projection, 2).await, before);
}
