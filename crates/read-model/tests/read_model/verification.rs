//! How fast rows are verified: what a full run does for each event, but for receiving it. Run with
//! `cargo test --release -p read-model --test read_model -- --ignored --nocapture verification`.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use domain::audit::faults;
use domain::{ConversationKey, Partition, Position, Sequence, SetDigest, Timestamp, Version};
use read_model::projections::conversations::Item;
use read_model::projections::conversations::verification::{Folded, KeyRange, RowsWalk};
use wire::commit::{StoredCommit, open};

use crate::fixture::{Author, Projection, START, message};

const TEXT_BYTES: usize = 200;
const EVENTS: usize = 100_000;
const CONVERSATIONS: usize = 2_000;
/// What a full run must reach on one core, in events a second.
const EVENTS_PER_SECOND_MIN: f64 = 100_000.0;

#[tokio::test]
#[ignore = "a measurement"]
async fn verification() {
    for events_per_commit in [100, 5, 1] {
        let messages = messages(events_per_commit);
        let mut projection = Projection::new().await;
        for batch in messages.chunks(500) {
            projection
                .apply(batch.iter().map(placed).map(item).collect())
                .await;
        }
        let (expected, fold) = measured(async || folded(&messages)).await;
        let (whole, walk) = measured(async || walked(&projection, expected).await).await;
        assert_eq!(whole, CONVERSATIONS);
        let both = fold.0 + walk.0;
        println!(
            "{events_per_commit} events a commit: {:.0} events/s of one core (record {:.0}, rows {:.0}; by the clock, with \
             Postgres, {:.0}), at least {EVENTS_PER_SECOND_MIN} wanted",
            rate(both),
            rate(fold.0),
            rate(walk.0),
            rate(fold.1 + walk.1),
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
            digest.toggle(SetDigest::of(
                tenant,
                conversation,
                Version(version),
                Sequence(sequence),
            ));
        }
    }
    let each = begun.elapsed() / COMMITS;
    println!("{each:?} of the projector's time for each commit ({digest})");
}

fn rate(time: Duration) -> f64 {
    f64::from(u32::try_from(EVENTS).unwrap()) / time.as_secs_f64()
}

/// What comes of some work, the time of its thread on a processor, and the time by the clock.
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

/// The commits of all conversations, which take turns.
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
            (
                author.key.clone(),
                sequence,
                author.seal_at(sequence, at, facts),
            )
        })
        .collect()
}

fn placed((_, sequence, message): &(ConversationKey, u64, Bytes)) -> StoredCommit {
    StoredCommit {
        position: Position {
            partition: Partition(0),
            sequence: Sequence(*sequence),
        },
        opened: open(message.clone()).unwrap(),
    }
}

fn item(placed: StoredCommit) -> Item {
    Item::Commit(Box::new(placed))
}

fn folded(messages: &[(ConversationKey, u64, Bytes)]) -> BTreeMap<ConversationKey, Folded> {
    let mut told: BTreeMap<ConversationKey, Folded> = BTreeMap::new();
    for message in messages {
        let placed = placed(message);
        let commit = &placed.opened.commit;
        let before = told.get_mut(&message.0);
        let previous = before
            .as_ref()
            .map(|folded| (folded.head(), folded.sequence()));
        assert_eq!(faults(previous, commit, &placed.opened.body), []);
        match before {
            Some(folded) => folded.absorb(&placed),
            None => drop(told.insert(message.0.clone(), Folded::begin(&placed))),
        }
    }
    told
}

/// How many conversations have the rows that they must have.
async fn walked(projection: &Projection, mut told: BTreeMap<ConversationKey, Folded>) -> usize {
    let mut whole = 0;
    let mut walk = RowsWalk::over(&projection.model, KeyRange::of(None));
    while let Some(page) = walk.next().await.unwrap() {
        for conversation in page.conversations {
            let expected = told.remove(&conversation.key).map(Folded::digest);
            whole += usize::from(expected == Some(conversation.digest));
        }
    }
    whole
}
