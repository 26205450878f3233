//! Reads of several conversations in one statement, which return the same as reads of each.

use domain::event::SystemNoted;
use domain::{ConversationId, EventKind as Kind, Fact, Lifecycle, Version};
use read_model::queries::heads_and_events;
use read_model::{Direction, EventQuery, ReadModelError, head_and_events};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{Author, Projection, access, message};
use crate::rows::all;

const KINDS: [&[Kind]; 3] =
    [&[], &[Kind::MessageAppended, Kind::SystemNoted], &[Kind::SystemNoted, Kind::ConversationErased]];
const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Backward];
/// 64 events and fewer are read without a sum of their bytes in Postgres.
const LIMITS: [u32; 4] = [0, 1, 64, 65];
const BYTES: [u64; 5] = [0, 1, 100, 2_000, u64::MAX];

fn id(text: &str) -> ConversationId {
    ConversationId::parse(text).unwrap()
}

/// A long conversation, one with one event, one whose events are large, and an erased one.
async fn projection(url: &str) -> Projection {
    let mut projection = Projection::at(url).await;
    let note = Fact::from(SystemNoted { topic: None, text: "n".to_owned() });
    let (mut long, mut large) = (Author::new("long"), Author::new("large"));
    let (mut one, mut erased) = (Author::new("one"), Author::new("erased"));
    let mut items = vec![long.begin(1), large.begin(2), one.begin(3), erased.begin(4)];
    for sequence in (5..85).step_by(2) {
        items.push(long.commit(sequence, vec![message("m"), note.clone()]));
        items.push(large.commit(sequence + 1, vec![message(&"x".repeat(700))]));
    }
    items.push(erased.commit(90, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]));
    projection.apply(items).await;
    projection
}

#[tokio::test]
async fn several_conversations_are_read_like_each() {
    let projection = projection(&devstack::test::database().await.url).await;
    let (model, ids) = (&projection.model, ["long", "none", "one", "erased", "large", "long"].map(id));
    for (direction, kinds) in DIRECTIONS.into_iter().flat_map(|way| KINDS.map(|kinds| (way, kinds))) {
        for (limit, bytes_max) in LIMITS.into_iter().flat_map(|limit| BYTES.map(|most| (limit, most))) {
            for from in [Version(1), Version(40)] {
                let query = EventQuery { from, kinds: kinds.to_vec(), limit, bytes_max, ..all(direction) };
                let together = heads_and_events(model, &access("acme"), &ids, &query).await;
                let mut each = Vec::new();
                for id in &ids {
                    each.push(head_and_events(model, &access("acme"), id, &query).await);
                }
                assert_eq!(together.unwrap(), each, "{query:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_foreign_tenant_sees_none_of_them() {
    let projection = projection(&devstack::test::database().await.url).await;
    let ids = ["long", "one"].map(id);
    let query = all(Direction::Forward);
    let found = heads_and_events(&projection.model, &access("other"), &ids, &query).await;
    assert_eq!(found.unwrap(), [Ok(None), Ok(None)]);
    let found = heads_and_events(&projection.model, &access("acme"), &[], &query).await;
    assert_eq!(found.unwrap(), []);
}

#[tokio::test]
async fn a_corrupt_row_is_only_the_error_of_its_conversation() {
    let url = devstack::test::database().await.url;
    let projection = projection(&url).await;
    let mut owner = PgConnection::connect(&url).await.unwrap();
    let damage = "UPDATE conversations_v1.conversation SET head = '\\xff' WHERE conversation_id = 'long'";
    owner.execute(damage).await.unwrap();
    let ids = ["long", "one"].map(id);
    let query = all(Direction::Forward);
    let found = heads_and_events(&projection.model, &access("acme"), &ids, &query).await;
    let [Err(ReadModelError::Corrupt { row, .. }), Ok(Some((_, events)))] = &found.unwrap()[..] else {
        panic!("another result");
    };
    assert_eq!((row.as_str(), events.len()), ("acme/long", 1));
}
