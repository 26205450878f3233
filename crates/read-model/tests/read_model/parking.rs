//! Parked conversations: the others continue, and a retry unparks them.

use domain::{Partition, Sequence};
use read_model::projections::conversations::parking::{self, RetryOutcome};
use read_model::projections::conversations::{Item, ParkReason};

use crate::fixture::{Author, Projection, execute, with_id};

async fn version(projection: &Projection, author: &Author) -> Option<u64> {
    projection.row(author).await.map(|row| row.head.version.0)
}

async fn waiting(projection: &Projection, author: &Author) -> Vec<u64> {
    let waiting = parking::waiting(&projection.model, &author.key, 100).await.unwrap();
    waiting.into_iter().map(|sequence| sequence.0).collect()
}

/// Sets a title that no writer seals and that Postgres rejects in a text column.
fn poison(item: &Item) -> Item {
    let Item::Commit(placed) = item else { panic!() };
    let mut placed = placed.clone();
    for event in &mut placed.opened.commit.events {
        if let domain::Fact::Lifecycle(domain::Lifecycle::ConversationUpdated(updated)) = &mut event.fact {
            updated.title = Some(domain::FieldChange::Set("a\0b".to_owned()));
        }
    }
    Item::Commit(placed)
}

/// The commit with the id of another one.
fn update() -> Vec<domain::Fact> {
    vec![domain::Fact::from(domain::event::ConversationUpdated::default())]
}

/// Two conversations. One has an unreadable message at 4 and later commits.
struct Scene {
    projection: Projection,
    bad: Author,
    good: Author,
    /// The readable form of the message at 4, and the later commits at 6 and 7.
    hidden: [Item; 3],
}

async fn scene() -> Scene {
    let mut projection = Projection::new().await;
    let (mut bad, mut good) = (Author::new("bad"), Author::new("good"));
    let mut items = vec![bad.begin(1), good.begin(2), bad.say(3, "a")];
    let hidden = [bad.say(4, "hidden"), bad.say(6, "b"), bad.say(7, "c")];
    items.extend([bad.garbage(4), good.say(5, "d"), hidden[1].clone()]);
    let applied = projection.apply(items).await;
    assert_eq!((applied.events, applied.conversations, applied.queued), (4, 2, 2));
    let [parked] = &applied.parked[..] else { panic!("{applied:?}") };
    assert_eq!(parked.key, bad.key);
    assert_eq!(parked.position.sequence, Sequence(4));
    let reason = "the message is not a commit".to_owned();
    assert_eq!(parked.reason, ParkReason::Unreadable(reason));
    Scene { projection, bad, good, hidden }
}

#[tokio::test]
async fn an_unreadable_message_parks_only_its_conversation() {
    let Scene { mut projection, bad, mut good, hidden: [_, _, last] } = scene().await;
    let applied = projection.apply(vec![last, good.say(8, "e")]).await;
    assert_eq!((applied.events, applied.queued, applied.parked.len()), (1, 1, 0));
    assert_eq!(waiting(&projection, &bad).await, [4, 6, 7]);
    assert_eq!(version(&projection, &bad).await, Some(2));
    assert_eq!(version(&projection, &good).await, Some(3));
    let model = &projection.model;
    let listed = parking::list(model, None, None, 10).await.unwrap();
    assert_eq!((listed.len(), listed[0].commits, listed[0].attempts), (1, 3, 1));
    let after = parking::list(model, None, Some(&bad.key), 10).await;
    assert_eq!(after.unwrap(), []);
    let other = parking::list(model, Some(Partition(1)), None, 10).await;
    assert_eq!(other.unwrap(), []);
}

#[tokio::test]
async fn a_retry_completes_a_parked_conversation() {
    let Scene { mut projection, mut bad, hidden: [first, second, third], .. } = scene().await;
    projection.apply(vec![third.clone()]).await;
    let model = projection.model.clone();
    let key = bad.key.clone();
    let retry = async |items: &[Item]| parking::retry(&model, &key, items).await.unwrap();
    // Only the first waiting commits are accepted.
    assert_eq!(retry(std::slice::from_ref(&second)).await, RetryOutcome::Changed);
    assert_eq!(retry(&[]).await, RetryOutcome::Changed);
    let still = retry(&[bad.garbage(4)]).await;
    assert!(matches!(still, RetryOutcome::StillParked(_)));
    let listed = parking::list(&model, None, None, 10).await.unwrap();
    assert_eq!(listed[0].attempts, 2);
    // A newer program can read the message and the later commits.
    assert_eq!(retry(&[first]).await, RetryOutcome::Partial);
    assert_eq!(waiting(&projection, &bad).await, [6, 7]);
    assert_eq!(retry(&[second, third]).await, RetryOutcome::Freed);
    assert_eq!(parking::count(&model).await.unwrap(), 0);
    let applied = projection.apply(vec![bad.say(9, "f")]).await;
    assert_eq!((applied.events, applied.queued), (1, 0));
    assert_eq!(projection.row(&bad).await.unwrap().head, *bad.head());
}

#[tokio::test]
async fn a_rejected_commit_is_found_among_many() {
    for bad_index in [0, 7, 63] {
        let mut projection = Projection::new().await;
        let mut authors: Vec<Author> = (0..64).map(|n| Author::new(&format!("c{n:02}"))).collect();
        let mut items = Vec::new();
        let mut sequence = 0;
        for round in 0..3 {
            for (index, author) in authors.iter_mut().enumerate() {
                sequence += 1;
                items.push(match (round, index == bad_index) {
                    (0, _) => author.begin(sequence),
                    (1, true) => poison(&author.commit(sequence, update())),
                    _ => author.say(sequence, "x"),
                });
            }
        }
        let applied = projection.apply(items).await;
        assert_eq!((applied.events, applied.queued), (190, 2));
        assert_eq!(applied.parked[0].reason, ParkReason::Refused("22021".to_owned()));
        for (index, author) in authors.iter().enumerate() {
            let expected = Some(if index == bad_index { 1 } else { 3 });
            assert_eq!(version(&projection, author).await, expected, "{index}");
        }
    }
}

#[tokio::test]
async fn a_lost_commit_parks_its_conversation() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    author.say(2, "lost");
    let after = author.say(3, "after");
    let applied = projection.apply(vec![after.clone()]).await;
    assert_eq!(applied.parked[0].reason, ParkReason::OutOfPlace);
    // A retry does not accept the gap; after a drop it does.
    let retry = async |items: &[Item]| parking::retry(&projection.model, &author.key, items).await.unwrap();
    assert_eq!(retry(&[after]).await, RetryOutcome::StillParked(ParkReason::OutOfPlace));
    let drop = async |sequence| parking::drop_commit(&projection.model, &author.key, Sequence(sequence)).await.unwrap();
    assert_eq!((drop(9).await, drop(3).await, drop(3).await), (false, true, false));
    let mut author = author.clone();
    let last = author.say(4, "last");
    projection.apply(vec![last.clone()]).await;
    assert_eq!(waiting(&projection, &author).await, [4]);
    assert_eq!(parking::retry(&projection.model, &author.key, &[last]).await.unwrap(), RetryOutcome::Freed);
    assert_eq!(version(&projection, &author).await, Some(4));
    let applied = projection.apply(vec![author.say(5, "goes on")]).await;
    assert_eq!(applied.events, 1);
}

/// A writer of an earlier version committed a retry twice: its clock was slow.
#[tokio::test]
async fn a_repeated_commit_is_dropped_and_the_conversation_continues() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    let mut items = vec![author.begin(1), author.say(2, "once")];
    items.push(with_id(&author.say(3, "once"), author.commit_id(2)));
    let after = author.say(4, "after");
    items.push(after.clone());
    let applied = projection.apply(items).await;
    assert_eq!((applied.events, applied.queued), (2, 2));
    assert_eq!(applied.parked[0].reason, ParkReason::RepeatedCommit);
    let model = projection.model.clone();
    assert!(parking::drop_commit(&model, &author.key, Sequence(3)).await.unwrap());
    assert_eq!(parking::retry(&model, &author.key, &[after]).await.unwrap(), RetryOutcome::Freed);
    assert_eq!(version(&projection, &author).await, Some(4));
    let applied = projection.apply(vec![author.say(5, "goes on")]).await;
    assert_eq!((applied.events, applied.queued), (1, 0));
    let listed = parking::list(&model, None, None, 10).await;
    assert_eq!(listed.unwrap(), []);
}

#[tokio::test]
async fn existing_rows_are_not_overwritten() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "x")];
    projection.apply(items.clone()).await;
    // An operator resets the checkpoint, so that the same commits are projected again.
    let reset = "UPDATE conversations_v1.checkpoint SET sequence = 0";
    execute(&url, reset).await;
    projection.checkpoint.sequence = Sequence(0);
    let applied = projection.apply(items).await;
    assert_eq!((applied.events, applied.queued), (0, 2));
    assert_eq!(applied.parked[0].reason, ParkReason::Refused("23505".to_owned()));
    assert_eq!(version(&projection, &author).await, Some(2));
}
