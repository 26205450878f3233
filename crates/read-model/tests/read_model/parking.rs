//! Parked conversations: they stop nobody else, and come back.

use domain::{Partition, Sequence};
use read_model::conversation;
use read_model::projections::conversations::parking::{self, Retried};
use read_model::projections::conversations::{Item, ParkReason};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{Author, Projection, access};

async fn version(projection: &Projection, author: &Author) -> Option<u64> {
    let row = conversation(&projection.model, &access("acme"), &author.key.conversation).await;
    row.unwrap().map(|row| row.head.version.0)
}

async fn waiting(projection: &Projection, author: &Author) -> Vec<u64> {
    let waiting = parking::waiting(&projection.model, &author.key, 100)
        .await
        .unwrap();
    waiting.into_iter().map(|sequence| sequence.0).collect()
}

/// A title that no text column can hold, which no writer would seal: what Postgres refuses.
fn poison(item: &Item) -> Item {
    let Item::Commit(placed) = item else { panic!() };
    let mut placed = placed.clone();
    for event in &mut placed.opened.commit.events {
        if let domain::Fact::Lifecycle(domain::Lifecycle::ConversationUpdated(updated)) =
            &mut event.fact
        {
            updated.title = Some(domain::FieldChange::Set("a\0b".to_owned()));
        }
    }
    Item::Commit(placed)
}

fn update() -> Vec<domain::Fact> {
    vec![domain::Fact::from(
        domain::event::ConversationUpdated::default(),
    )]
}

/// Two conversations, one of which has a message at 4 that cannot be opened, and commits behind it.
struct Scene {
    projection: Projection,
    bad: Author,
    good: Author,
    /// What the message at 4 is to software that can open it, and the commits behind it, at 6 and 7.
    hidden: [Item; 3],
}

async fn scene() -> Scene {
    let mut projection = Projection::new().await;
    let (mut bad, mut good) = (Author::new("bad"), Author::new("good"));
    let mut items = vec![bad.begin(1), good.begin(2), bad.say(3, "a")];
    let hidden = [bad.say(4, "hidden"), bad.say(6, "b"), bad.say(7, "c")];
    items.extend([bad.garbage(4), good.say(5, "d"), hidden[1].clone()]);
    let applied = projection.apply(items).await;
    assert_eq!(
        (applied.events, applied.conversations, applied.queued),
        (4, 2, 2)
    );
    let [parked] = &applied.parked[..] else {
        panic!("{applied:?}")
    };
    assert_eq!(parked.key, bad.key);
    assert_eq!(parked.position.sequence, Sequence(4));
    let reason = "the message is not a commit".to_owned();
    assert_eq!(parked.reason, ParkReason::Unreadable(reason));
    Scene {
        projection,
        bad,
        good,
        hidden,
    }
}

#[tokio::test]
async fn what_cannot_be_opened_parks_its_conversation_alone() {
    let Scene {
        mut projection,
        bad,
        mut good,
        hidden: [_, _, last],
    } = scene().await;
    let applied = projection.apply(vec![last, good.say(8, "e")]).await;
    assert_eq!(
        (applied.events, applied.queued, applied.parked.len()),
        (1, 1, 0)
    );
    assert_eq!(waiting(&projection, &bad).await, [4, 6, 7]);
    assert_eq!(version(&projection, &bad).await, Some(2));
    assert_eq!(version(&projection, &good).await, Some(3));
    let model = &projection.model;
    let listed = parking::list(model, None, None, 10).await.unwrap();
    assert_eq!(
        (listed.len(), listed[0].commits, listed[0].attempts),
        (1, 3, 1)
    );
    let after = parking::list(model, None, Some(&bad.key), 10).await;
    assert_eq!(after.unwrap(), []);
    let elsewhere = parking::list(model, Some(Partition(1)), None, 10).await;
    assert_eq!(elsewhere.unwrap(), []);
}

#[tokio::test]
async fn a_parked_conversation_comes_back_whole() {
    let Scene {
        mut projection,
        mut bad,
        hidden: [first, second, third],
        ..
    } = scene().await;
    projection.apply(vec![third.clone()]).await;
    let model = projection.model.clone();
    let key = bad.key.clone();
    let retry = async |items: &[Item]| parking::retry(&model, &key, items).await.unwrap();
    // Only what waits first is taken.
    assert_eq!(retry(std::slice::from_ref(&second)).await, Retried::Changed);
    assert_eq!(retry(&[]).await, Retried::Changed);
    let still = retry(&[bad.garbage(4)]).await;
    assert!(matches!(still, Retried::StillParked(_)));
    let listed = parking::list(&model, None, None, 10).await.unwrap();
    assert_eq!(listed[0].attempts, 2);
    // Software that can open the message takes it, and all that waits behind it.
    assert_eq!(retry(&[first]).await, Retried::MoreWaits);
    assert_eq!(waiting(&projection, &bad).await, [6, 7]);
    assert_eq!(retry(&[second, third]).await, Retried::Freed);
    assert_eq!(parking::count(&model).await.unwrap(), 0);
    let applied = projection.apply(vec![bad.say(9, "f")]).await;
    assert_eq!((applied.events, applied.queued), (1, 0));
    let row = conversation(&model, &access("acme"), &key.conversation).await;
    assert_eq!(row.unwrap().unwrap().head, *bad.head());
}

#[tokio::test]
async fn what_postgres_refuses_is_found_among_many() {
    for bad_place in [0, 7, 63] {
        let mut projection = Projection::new().await;
        let mut authors: Vec<Author> = (0..64).map(|n| Author::new(&format!("c{n:02}"))).collect();
        let mut items = Vec::new();
        let mut sequence = 0;
        for round in 0..3 {
            for (place, author) in authors.iter_mut().enumerate() {
                sequence += 1;
                items.push(match (round, place == bad_place) {
                    (0, _) => author.begin(sequence),
                    (1, true) => poison(&author.commit(sequence, update())),
                    _ => author.say(sequence, "x"),
                });
            }
        }
        let applied = projection.apply(items).await;
        assert_eq!((applied.events, applied.queued), (190, 2));
        assert_eq!(
            applied.parked[0].reason,
            ParkReason::Refused("22021".to_owned())
        );
        for (place, author) in authors.iter().enumerate() {
            let expected = if place == bad_place { 1 } else { 3 };
            assert_eq!(
                version(&projection, author).await,
                Some(expected),
                "{place}"
            );
        }
    }
}

#[tokio::test]
async fn a_lost_commit_is_noticed() {
    let mut projection = Projection::new().await;
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    author.say(2, "lost");
    let after = author.say(3, "after");
    let applied = projection.apply(vec![after.clone()]).await;
    assert_eq!(applied.parked[0].reason, ParkReason::OutOfPlace);
    // Trying again does not hide the loss; giving the commit up does.
    let retry = async |items: &[Item]| {
        parking::retry(&projection.model, &author.key, items)
            .await
            .unwrap()
    };
    assert_eq!(
        retry(&[after]).await,
        Retried::StillParked(ParkReason::OutOfPlace)
    );
    let drop = async |sequence| {
        parking::drop_commit(&projection.model, &author.key, Sequence(sequence))
            .await
            .unwrap()
    };
    assert_eq!(
        (drop(9).await, drop(3).await, drop(3).await),
        (false, true, false)
    );
    let mut author = author.clone();
    let last = author.say(4, "last");
    projection.apply(vec![last.clone()]).await;
    assert_eq!(waiting(&projection, &author).await, [4]);
    assert_eq!(
        parking::retry(&projection.model, &author.key, &[last])
            .await
            .unwrap(),
        Retried::Freed
    );
    assert_eq!(version(&projection, &author).await, Some(4));
    let applied = projection.apply(vec![author.say(5, "goes on")]).await;
    assert_eq!(applied.events, 1);
}

#[tokio::test]
async fn rows_that_are_there_already_are_not_overwritten() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = Author::new("c");
    let items = vec![author.begin(1), author.say(2, "x")];
    projection.apply(items.clone()).await;
    // Somebody sets the checkpoint back by hand: the same commits come again.
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute("UPDATE conversations_v1.checkpoint SET sequence = 0")
        .await
        .unwrap();
    projection.checkpoint.sequence = Sequence(0);
    let applied = projection.apply(items).await;
    assert_eq!((applied.events, applied.queued), (0, 2));
    assert_eq!(
        applied.parked[0].reason,
        ParkReason::Refused("23505".to_owned())
    );
    assert_eq!(version(&projection, &author).await, Some(2));
}
