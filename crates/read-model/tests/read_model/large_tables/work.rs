//! Reads, writes and erasures, in turns.

use domain::{CommitId, ConversationId, Fact, Lifecycle, TenantAccess, TenantId, Version};
use read_model::projections::conversations::Item;
use read_model::queries::{EventRange, RangesQuery, heads_and_events_of_ranges};
use read_model::{EventQuery, find_commit, head_and_events};
use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use super::side::{Side, TEXT_BYTES, Times};
use crate::fixture::{Author, message};

const READS: i64 = 2_000;

/// The tenant and the id of a conversation of `rows.sql`.
async fn keys(url: &str, numbers: impl Iterator<Item = i64>) -> Vec<Key> {
    let sql = "SELECT 't' || number % 20, 'c' || lpad(to_hex(number), 8, '0') || '-' || md5(number::text)
               FROM unnest($1::bigint[]) AS number";
    let mut connection = PgConnection::connect(url).await.unwrap();
    let query = sqlx::query(sql).bind(numbers.collect::<Vec<_>>());
    let rows = query.fetch_all(&mut connection).await.unwrap();
    let key = |row: &PgRow| {
        (TenantId::parse(row.get::<&str, _>(0)).unwrap(), ConversationId::parse(row.get::<&str, _>(1)).unwrap())
    };
    rows.iter().map(key).collect()
}

type Key = (TenantId, ConversationId);

/// Reads of random conversations.
pub(super) async fn read(url: &str, sides: &[Side], conversations: i64) {
    // A step that is no divisor: neighbours in time are far apart.
    let numbers = (0..READS).map(|n| n * 7_919 % conversations);
    let keys = keys(url, numbers).await;
    read_newest(sides, &keys).await;
    read_several(sides, &keys).await;
    read_commits(sides, &keys).await;
}

async fn read_newest(sides: &[Side], keys: &[Key]) {
    let query = EventQuery::latest(20, u64::MAX);
    let mut times = Times::new("newest 20 events", sides);
    for (tenant, id) in keys {
        let access = TenantAccess::grant(tenant.clone());
        for (n, side) in sides.iter().enumerate() {
            let read = head_and_events(&side.projection.model, &access, id, &query);
            times.add(n, async { assert!(read.await.is_ok()) }).await;
        }
    }
    times.print(sides);
}

async fn read_several(sides: &[Side], keys: &[Key]) {
    let mut times = Times::new("events of 16 conversations", sides);
    for keys in keys.chunks(16) {
        let access = TenantAccess::grant(keys[0].0.clone());
        let range = |(_, id): &Key| EventRange { conversation: id.clone(), first: Version(1), last: Version(20) };
        let ranges: Vec<EventRange> = keys.iter().map(range).collect();
        let query = RangesQuery { ranges: &ranges, kinds: &[], limit: 1_000, bytes_max: u64::MAX };
        for (n, side) in sides.iter().enumerate() {
            let read = heads_and_events_of_ranges(&side.projection.model, &access, query);
            times.add(n, async { assert!(read.await.is_ok()) }).await;
        }
    }
    times.print(sides);
}

async fn read_commits(sides: &[Side], keys: &[Key]) {
    let mut times = Times::new("commit by id", sides);
    for (tenant, id) in keys {
        let access = TenantAccess::grant(tenant.clone());
        for (n, side) in sides.iter().enumerate() {
            let read = find_commit(&side.projection.model, &access, id, CommitId(Uuid::nil()));
            times.add(n, async { assert!(read.await.is_ok()) }).await;
        }
    }
    times.print(sides);
}

/// Batches of the projector: many commits of two events, and a few.
pub(super) async fn write(sides: &mut [Side], round: usize) {
    for (work, conversations, batches) in [("batches of 2,000 events", 1_000, 20), ("batches of 10 events", 5, 400)] {
        let id = |n| format!("c{:08x}-{round}-{conversations}-{n}", u32::MAX);
        let mut authors: Vec<Author> = (0..conversations).map(|n| Author::new(&id(n))).collect();
        let mut times = Times::new(work, sides);
        let mut sequence = sides[0].projection.checkpoint.sequence.0;
        for batch in 0..=batches {
            let items: Vec<Item> = authors
                .iter_mut()
                .map(|author| {
                    sequence += 1;
                    if batch == 0 {
                        return author.begin(sequence);
                    }
                    author.commit(sequence, vec![message(&"x".repeat(TEXT_BYTES)); 2])
                })
                .collect();
            apply_in_turn(sides, &mut times, &items, batch % 2).await;
        }
        times.print(sides);
    }
}

/// Applies the items to each side, starting with the side `first`.
pub(super) async fn apply_in_turn(sides: &mut [Side], times: &mut Times, items: &[Item], first: usize) {
    for turn in 0..sides.len() {
        let n = (turn + first) % sides.len();
        let (projection, items) = (&mut sides[n].projection, items.to_vec());
        times.add(n, async { drop(projection.apply(items).await) }).await;
    }
}

/// Erases conversations of 10,000 events.
pub(super) async fn erase_long(sides: &mut [Side]) {
    let mut times = Times::new("erasure of 10,000 events", sides);
    let mut filled = Times::new("batches of 500 events of one conversation", sides);
    let mut sequence = sides[0].projection.checkpoint.sequence.0;
    for n in 0..5 {
        let mut author = Author::new(&format!("long{n}"));
        sequence += 1;
        let begun = author.begin(sequence);
        apply_in_turn(sides, &mut filled, &[begun], n % 2).await;
        for _ in 0..20 {
            sequence += 1;
            let items = [author.commit(sequence, vec![message(&"x".repeat(TEXT_BYTES)); 500])];
            apply_in_turn(sides, &mut filled, &items, n % 2).await;
        }
        sequence += 1;
        let erased = vec![Fact::Lifecycle(Lifecycle::ConversationErased)];
        apply_in_turn(sides, &mut times, &[author.commit(sequence, erased)], n % 2).await;
    }
    filled.print(sides);
    times.print(sides);
}

/// Erases the oldest tenth of every second tenant, as a retention does.
pub(super) async fn erase_idle(url: &str, sides: &mut [Side], conversations: i64) {
    let mut sequence = sides[0].projection.checkpoint.sequence.0;
    let keys = keys(url, (0..conversations / 10).step_by(2)).await;
    let mut times = Times::new("erasure of 200 conversations of 20 events", sides);
    for (n, keys) in keys.chunks(200).enumerate() {
        let tombstone = |(tenant, id): &Key| {
            let mut author = Author::new(id.as_str());
            author.key.tenant = tenant.clone();
            author.begin(sequence);
            author.commit(sequence, vec![message("x"); 20]);
            sequence += 1;
            author.commit(sequence, vec![Fact::Lifecycle(Lifecycle::ConversationErased)])
        };
        let items: Vec<Item> = keys.iter().map(tombstone).collect();
        apply_in_turn(sides, &mut times, &items, n % 2).await;
    }
    times.print(sides);
}
