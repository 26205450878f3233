//! Throughput of the verification of rows, without receiving events. Run with
//! `cargo test --release -p read-model --test read_model -- --ignored --nocapture verification`.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::audit::faults;
use domain::{ConversationKey, Partition, Position, Sequence, SetDigest, Timestamp, Version};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::verification::{KeyRange, RowsFold, RowsScan};
use wire::commit::{StoredCommit, open};

use crate::fixture::{Author, Projection, START, message};

const TEXT_BYTES: usize = 200;
const EVENTS: usize = 100_000;
const CONVERSATIONS: usize = 2_000;
/// Minimum events per second on one core.
const EVENTS_PER_SECOND_MIN: f64 = 100_000.0;

#[tokio::test]
#[ignore = "a measurement"]
async fn verification() {
    for events_per_commit in [100, 5, 1] {
        let messages = messages(events_per_commit);
        let mut projection = Projection::new().await;
        for batch in messages.chunks(500) {
            projection.apply(batch.iter().map(placed).map(item).collect()).await;
        }
        let (expected, fold) = measured(async || folded(&messages)).await;
        let (equal, scan) = measured(async || scanned(&projection, expected).await).await;
        assert_eq!(equal, CONVERSATIONS);
        let both = fold.0 + scan.0;
        println!(
            "{events_per_commit} events a commit: {:.0} events/s of one core (record {:.0}, rows {:.0}; by the clock, with \
             Postgres, {:.0}), at least {EVENTS_PER_SECOND_MIN} wanted",
            rate(both),
            rate(fold.0),
            rate(scan.0),
            rate(fold.1 + scan.1),
        );
        assert!(cfg!(debug_assertions) || rate(both) >= EVENTS_PER_SECOND_MIN);
    }
}

#[test]
#[ignore = "a measurement"]
fn the_digest_of_a_commit() {
    const COMMITS: u32 = 100_000;
    let author = Author::new("0190c3b2-0000-7000-8000-000000000000");
    let (tenant, conversation) = (&author.key.tenant, &author.key.conversation);
    let mut digest = SetDigest::default();
    let begun = Instant::now();
    for commit in 0..u64::from(COMMITS) {
        for (version, sequence) in [(commit, 3 * commit), (commit + 1, 3 * commit + 3)] {
            digest.toggle(SetDigest::of(tenant, conversation, Version(version), Sequence(sequence)));
        }
    }
    let each = begun.elapsed() / COMMITS;
    println!("{each:?} of the projector's time for each commit ({digest})");
}

fn rate(time: Duration) -> f64 {
    f64::from(u32::try_from(EVENTS).unwrap()) / time.as_secs_f64()
}

/// The result of `work`, its CPU time and its elapsed time.
async fn measured<T>(work: impl AsyncFnOnce() -> T) -> (T, (Duration, Duration)) {
    let (begun, before) = (Instant::now(), on_processor());
    let outcome = work().await;
    let busy = on_processor().saturating_sub(before);
    (outcome, (busy, begun.elapsed()))
}

fn on_processor() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanos = times.split_whitespace().next().unwrap();
    Duration::from_nanos(nanos.parse().unwrap())
}

/// The commits of all conversations, in turn.
fn messages(events_per_commit: usize) -> Vec<(ConversationKey, u64, Bytes)> {
    let text = "x".repeat(TEXT_BYTES);
    let author = |n| Author::new(&format!("0190c3b2-0000-7000-8000-{n:012}"));
    let mut authors: Vec<Author> = (0..CONVERSATIONS).map(author).collect();
    let commits = CONVERSATIONS + EVENTS / events_per_commit;
    (0..commits)
        .map(|turn| {
            let author = &mut authors[turn % CONVERSATIONS];
            let facts = if turn < CONVERSATIONS {
                vec![domain::Fact::from(author.created.clone())]
            } else {
                vec![message(&text); events_per_commit]
            };
            let sequence = u64::try_from(turn + 1).unwrap();
            let at = Timestamp(START.0 + i64::try_from(sequence).unwrap());
            let message = author.seal_at(sequence, at, facts);
            (author.key.clone(), sequence, message)
        })
        .collect()
}

fn placed((_, sequence, message): &(ConversationKey, u64, Bytes)) -> StoredCommit {
    StoredCommit {
        position: Position { partition: Partition(0), sequence: Sequence(*sequence) },
        opened: open(message.clone()).unwrap(),
    }
}

fn item(placed: StoredCommit) -> Item {
    Item::Commit(Box::new(placed))
}

fn folded(messages: &[(ConversationKey, u64, Bytes)]) -> BTreeMap<ConversationKey, RowsFold> {
    let mut folds: BTreeMap<ConversationKey, RowsFold> = BTreeMap::new();
    for message in messages {
        let placed = placed(message);
        let commit = &placed.opened.commit;
        let before = folds.get_mut(&message.0);
        let previous = before.as_ref().map(|folded| (folded.head(), folded.sequence()));
        assert_eq!(faults(previous, commit, &placed.opened.body), []);
        match before {
            Some(folded) => folded.absorb(&placed),
            None => drop(folds.insert(message.0.clone(), RowsFold::begin(&placed))),
        }
    }
    folds
}

/// The number of conversations with the expected rows.
async fn scanned(projection: &Projection, mut folds: BTreeMap<ConversationKey, RowsFold>) -> usize {
    let mut equal = 0;
    let mut scan = RowsScan::new(&projection.model, KeyRange::new(None));
    while let Some(page) = scan.next().await.unwrap() {
        for conversation in page.conversations {
            let expected = folds.remove(&conversation.key).map(RowsFold::digest);
            equal += usize::from(expected == Some(conversation.digest));
        }
    }
    equal
}
