//! A rebuilt schema has the structure and the rows of the live one, for any chunks of the record.

use domain::event::{ConversationUpdated, Usage};
use domain::{
    ChannelId, ConversationId, Fact, FieldChange, ForkPoint, JsonText, Lifecycle, Owner, Sequence, UserId, Version,
};
use read_model::projections::conversations::verification::digests;
use read_model::projections::conversations::{Item, ParkReason, copy, parking};
use read_model::schemas::{Phase, SchemaBuild, SchemaState, SchemasLock, compare, list};
use read_model::{ReadModel, SchemaName};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::fixture::{Author, Projection, document_deleted, document_put, execute, message, reply, sequence, with_id};

/// Interleaved commits of different conversations: plain, updated, forked, erased, of a user, with usage.
pub(crate) fn history() -> Vec<Item> {
    let mut authors: Vec<Author> = (0..6).map(|n| Author::new(&format!("c{n}"))).collect();
    authors[1].created.title = Some("first".to_owned());
    authors[1].created.metadata = Some(JsonText::parse("{\"a\":1}").unwrap());
    authors[2].created.owner = Owner::User(UserId::parse("user").unwrap());
    authors[5].created.owner = Owner::Channel(ChannelId::parse("0".repeat(64)).unwrap());
    authors[3].created.forked_from =
        Some(ForkPoint { conversation: ConversationId::parse("c0").unwrap(), version: Version(2), depth: 1 });
    let used = Usage { input_tokens: 3, output_tokens: 2, cached_tokens: 1, reasoning_tokens: 1 };
    let mut items = Vec::new();
    let mut at = 0;
    for round in 0..9_u64 {
        for (n, author) in authors.iter_mut().enumerate() {
            at += 1;
            let update = |title: FieldChange<String>| {
                Fact::from(ConversationUpdated { title: Some(title), ..ConversationUpdated::default() })
            };
            items.push(match (round, n) {
                (0, _) => author.begin(at),
                (3, 1) => author.commit(at, vec![update(FieldChange::Clear)]),
                (3, 2) => author.commit(at, vec![update(FieldChange::Set("later".to_owned()))]),
                (7, 4) => author.commit(at, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
                (8, 4) => continue,
                (_, 2) => author.commit(at, vec![reply(Some("m"), Some(used)), message("x")]),
                (_, 4) => author.commit(at, vec![reply(None, Some(used)), document_put("k", "1", None)]),
                (_, 5) => author.commit(at, documents(round)),
                _ => author.say(at, &format!("round {round} of {n}")),
            });
        }
    }
    items
}

/// Values, ends and deletions of documents. Rounds are six seconds apart.
fn documents(round: u64) -> Vec<Fact> {
    let kept = document_put("kept", &round.to_string(), None);
    let short = document_put("short", &round.to_string(), Some(5 + round % 3));
    match round % 4 {
        0 => vec![kept, document_deleted("gone"), short],
        1 => vec![document_put("gone", "1", None), short],
        2 => vec![document_deleted("gone"), document_put("gone", "2", None)],
        _ => vec![document_put("new", "1", None), document_deleted("new"), kept],
    }
}

/// Fills a schema from the record, chunk by chunk.
pub(crate) async fn fill(building: &SchemaBuild, items: &[Item], chunk: usize) {
    let mut projection = Projection::of(building.model().clone()).await;
    for chunk in items.chunks(chunk) {
        let batch = projection.batch(chunk.to_vec());
        copy(&projection.model, std::slice::from_ref(&batch)).await.unwrap();
        projection.checkpoint.sequence = batch.last;
    }
    let lease = projection.checkpoint.lease;
    read_model::projections::conversations::lease::release(&projection.model, &[lease]).await.unwrap();
}

pub(crate) async fn made(lock: &SchemasLock, items: &[Item], chunk: usize) -> SchemaBuild {
    let mut building = lock.begin().await.unwrap();
    assert_eq!(building.phase(), Phase::Copying);
    fill(&building, items, chunk).await;
    building.build_conversations().await.unwrap();
    building.index(|_| {}).await.unwrap();
    assert_eq!(building.phase(), Phase::Following);
    building
}

/// The conversations that differ, by id.
pub(crate) async fn differing(live: &ReadModel, other: &ReadModel) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = compare::page(live, other, after.as_ref()).await.unwrap();
        found.extend(page.differing);
        after = page.next;
        if after.is_none() {
            let found = compare::differing_among(live, other, &found).await.unwrap();
            let id = |key: domain::ConversationKey| key.conversation.as_str().to_owned();
            return found.into_iter().map(id).collect();
        }
    }
}

/// The rows of a query as text, in a schema.
pub(crate) async fn in_schema(url: &str, sql: &str, schema: SchemaName) -> Vec<String> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let sql = sql.replace("{schema}", &schema.to_string());
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// The rows of a query as text, in each of two schemas.
pub(crate) async fn in_both(url: &str, sql: &str, schemas: [SchemaName; 2]) -> [Vec<String>; 2] {
    let [first, second] = schemas;
    [in_schema(url, sql, first).await, in_schema(url, sql, second).await]
}

const USAGE: &str = "SELECT usage_day::text FROM {schema}.usage_day ORDER BY 1";
/// The stored sums and the expected sums.
const STORAGE: [&str; 2] = [
    "SELECT storage::text FROM {schema}.storage WHERE conversations <> 0 OR stored_bytes <> 0 ORDER BY 1",
    "SELECT (count(*), sum(stored_bytes), partition, tenant_id, agent_id)::text FROM {schema}.conversation
     WHERE status <> 3 GROUP BY partition, tenant_id, agent_id ORDER BY 1",
];

async fn check_storage(url: &str, schemas: [SchemaName; 2]) {
    let [found, again] = in_both(url, STORAGE[0], schemas).await;
    let [expected, anew] = in_both(url, STORAGE[1], schemas).await;
    assert_eq!((found.is_empty(), &found), (false, &expected));
    assert_eq!(again, anew);
}

#[tokio::test]
async fn a_rebuild_produces_the_same_rows_for_any_chunks() {
    let items = history();
    for chunk in [1, 7, items.len()] {
        let url = devstack::test::database().await.url;
        let mut live = Projection::at(&url).await;
        for batch in items.chunks(5) {
            live.apply(batch.to_vec()).await;
        }
        let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
        let building = made(&lock, &items, chunk).await;
        let none: [&str; 0] = [];
        assert_eq!(differing(&live.model, building.model()).await, none, "{chunk}");
        let schemas = [building.live(), building.name()];
        let [used, again] = in_both(&url, USAGE, schemas).await;
        assert_eq!((used.is_empty(), &used), (false, &again), "{chunk}");
        check_storage(&url, schemas).await;
        // Changes of rows in either schema are found.
        let damage = "UPDATE conversations_v1.event SET role = 9 WHERE conversation_id = 'c0' AND version = 3;
                      UPDATE conversations_v2.conversation SET title = 'x' WHERE conversation_id = 'c1';
                      DELETE FROM conversations_v1.event WHERE conversation_id = 'c5' AND version = 9;
                      DELETE FROM conversations_v2.conversation WHERE conversation_id = 'c3'";
        execute(&url, damage).await;
        check_storage(&url, schemas).await;
        let expected = ["c0", "c1", "c3", "c5"];
        assert_eq!(differing(&live.model, building.model()).await, expected);
    }
}

#[tokio::test]
async fn a_rebuild_parks_conversations_like_the_projector() {
    for chunk in [1, 4, 100] {
        let url = devstack::test::database().await.url;
        let live = Projection::at(&url).await;
        let (mut lost, mut whole, mut garbled) = (Author::new("lost"), Author::new("whole"), Author::new("garbled"));
        let mut erased = Author::new("erased");
        let mut items = vec![lost.begin(1), whole.begin(2), garbled.begin(3)];
        erased.begin(4);
        // A lost message, an unreadable one, and a conversation whose first commit was purged.
        lost.say(5, "gone");
        items.extend([
            garbled.garbage(6),
            lost.say(7, "after"),
            whole.say(8, "x"),
            garbled.say(9, "waits"),
            erased.commit(10, vec![Fact::Lifecycle(Lifecycle::ConversationErased)]),
            lost.say(11, "after that"),
        ]);
        let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
        let building = made(&lock, &items, chunk).await;
        let rows = parking::list(building.model(), None, None, 9).await.unwrap();
        let parked: Vec<_> = rows
            .iter()
            .map(|one| {
                let id = one.key.conversation.as_str();
                (id, one.position.sequence.0, one.commits)
            })
            .collect();
        assert_eq!(parked, [("garbled", 6, 2), ("lost", 1, 3)], "{chunk}");
        let mut again = Projection::of(building.model().clone()).await;
        let waiting: Vec<Item> = items.iter().filter(|item| [1, 7, 11].contains(&sequence(item).0)).cloned().collect();
        let outcome = parking::retry(&again.model, &lost.key, &waiting).await.unwrap();
        assert!(matches!(outcome, parking::RetryOutcome::StillParked(_)), "{outcome:?}");
        let parked = parking::list(&again.model, None, None, 9).await.unwrap();
        assert_eq!(parked[1].position.sequence.0, 7, "{parked:?}");
        // The live schema has none of these rows yet.
        assert_eq!(differing(&live.model, &again.model).await.len(), 4);
        again.apply(vec![whole.say(12, "goes on")]).await;
    }
}

/// A writer of an earlier version committed a retry twice: its clock was slow.
#[tokio::test]
async fn a_rebuild_parks_a_conversation_with_a_repeated_commit() {
    let url = devstack::test::database().await.url;
    let live = Projection::at(&url).await;
    let (mut twice, mut whole) = (Author::new("twice"), Author::new("whole"));
    let mut items = vec![twice.begin(1), whole.begin(2), twice.say(3, "once")];
    items.push(with_id(&twice.say(4, "once"), twice.commit_id(2)));
    items.extend([twice.say(5, "after"), whole.say(6, "x")]);
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    let building = made(&lock, &items, 2).await;
    let indexes = "SELECT indexname::text FROM pg_indexes WHERE schemaname = '{schema}' ORDER BY 1";
    let [expected, found] = in_both(&url, indexes, [building.live(), building.name()]).await;
    assert_eq!(found, expected);

    let model = building.model();
    let parked = async || {
        let rows = parking::list(model, None, None, 9).await.unwrap();
        rows.into_iter().map(|one| (one.key, one.position.sequence.0, one.commits)).collect::<Vec<_>>()
    };
    assert_eq!(parked().await, [(twice.key.clone(), 1, 4)]);
    let retry = async |sequences: &[u64]| {
        let waiting: Vec<Item> = items.iter().filter(|item| sequences.contains(&sequence(item).0)).cloned().collect();
        parking::retry(model, &twice.key, &waiting).await.unwrap()
    };
    assert_eq!(retry(&[1, 3, 4, 5]).await, parking::RetryOutcome::StillParked(ParkReason::RepeatedCommit));
    assert_eq!(parked().await, [(twice.key.clone(), 4, 2)]);
    assert!(parking::drop_commit(model, &twice.key, Sequence(4)).await.unwrap());
    assert_eq!(retry(&[5]).await, parking::RetryOutcome::Freed);
    let (partitions, _) = digests(model).await.unwrap();
    let conversations: u64 = partitions.iter().map(|one| one.conversations).sum();
    assert!(conversations == 2 && partitions.iter().all(|one| one.kept == one.rows), "{partitions:?}");
}

#[tokio::test]
async fn a_stopped_rebuild_is_resumed_by_one_process() {
    let url = devstack::test::database().await.url;
    let live = Projection::at(&url).await;
    let items = history();
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    assert!(SchemasLock::take(&live.model).await.unwrap().is_none());
    let building = lock.begin().await.unwrap();
    fill(&building, &items[..20], 10).await;
    drop(lock);
    let lock = loop {
        // Postgres needs some time to notice the end of the session.
        if let Some(lock) = SchemasLock::take(&live.model).await.unwrap() {
            break lock;
        }
        tokio::task::yield_now().await;
    };
    let mut again = lock.begin().await.unwrap();
    assert_eq!((again.name(), again.phase()), (building.name(), Phase::Copying));
    fill(&again, &items[20..], 10).await;
    again.build_conversations().await.unwrap();
    let mut again = lock.begin().await.unwrap();
    assert_eq!(again.phase(), Phase::Indexing);
    let mut indexes = Vec::new();
    again.index(|name| indexes.push(name.to_owned())).await.unwrap();
    assert!(indexes.len() >= 10, "{indexes:?}");
    let again = lock.begin().await.unwrap();
    assert_eq!((again.name(), again.phase()), (building.name(), Phase::Following));
    let states: Vec<_> = list(&live.model).await.unwrap();
    let states: Vec<_> = states.iter().map(|one| (one.state, one.bytes > 0)).collect();
    assert_eq!(states, [(SchemaState::Live, true), (SchemaState::Building, true)]);
}
