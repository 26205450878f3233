//! Readers of live parts: a reader sees every part once, in order, to the end, whenever it joins.

use domain::{ConversationKey, RunId, Sequence};
use event_log::{LivePartsItem, PartsBounds, Record, StoredParts};
use futures::future::join_all;
use rand::RngExt as _;
use tests::eventually::within;
use tests::parts::{end, text};
use tests::stack::Stack;
use tokio::sync::watch;
use wire::proto::event::v1::RunOutcome;

use super::{Run, record_of};

/// Batches of the run, each of 1 to 4 parts.
const BATCHES: u64 = 60;
const READERS: usize = 24;

/// The parts that a reader has seen.
#[derive(Debug, Default)]
struct ReceivedParts {
    numbers: Vec<u64>,
    sequence: Sequence,
    is_over: bool,
}

impl ReceivedParts {
    /// Adds parts by number; known ones are skipped.
    fn take(&mut self, stored: &StoredParts) {
        for part in stored.open().expect("a batch") {
            if self.numbers.last().is_some_and(|last| part.number <= *last) {
                continue;
            }
            self.numbers.push(part.number);
            self.is_over = matches!(part.kind, domain::RunPartKind::RunEnded(_));
        }
        self.sequence = self.sequence.max(stored.sequence);
    }

    async fn catch_up(&mut self, record: &Record, key: &ConversationKey, run: RunId) {
        let bounds = PartsBounds { batches_max: 7, ..PartsBounds::default() };
        loop {
            let page = record.parts_after(key, run, self.sequence, bounds).await.expect("a page");
            page.batches.iter().for_each(|stored| self.take(stored));
            if page.resume_after.is_none() {
                return;
            }
        }
    }
}

/// Joins after this many batches, and reads to the end.
async fn read(
    record: &Record,
    key: &ConversationKey,
    run: RunId,
    mut published: watch::Receiver<u64>,
    join_at: u64,
) -> Vec<u64> {
    published.wait_for(|published| *published >= join_at).await.expect("the run");
    let mut live = record.live_parts(key, run).await.expect("live parts");
    let mut seen = ReceivedParts::default();
    seen.catch_up(record, key, run).await;
    while !seen.is_over {
        match within("parts", live.next()).await {
            LivePartsItem::Parts(stored) => seen.take(&stored),
            LivePartsItem::Gap => seen.catch_up(record, key, run).await,
        }
    }
    seen.numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn every_part_is_seen_once_whenever_a_reader_joins() {
    let stack = Stack::shared().await;
    let mut run = Run::begin(stack).await;
    let record = record_of(stack).await;
    let (key, id) = run.place();
    let (progress, published) = watch::channel(0);
    let joins = (0..READERS).map(|_| rand::rng().random_range(0..=BATCHES));
    let readers: Vec<_> = joins
        .map(|join_at| {
            let (record, key, published) = (record.clone(), key.clone(), published.clone());
            tokio::spawn(async move {
                let seen = read(&record, &key, id, published, join_at).await;
                (join_at, seen)
            })
        })
        .collect();
    for batch in 1..BATCHES {
        let count = rand::rng().random_range(1..=4);
        let parts = (run.next..run.next + count).map(|number| text(number, "word "));
        run.publish(parts.collect()).await;
        progress.send_replace(batch);
    }
    let last = run.next;
    run.publish(vec![end(last, RunOutcome::Completed)]).await;
    progress.send_replace(BATCHES);
    let expected: Vec<u64> = (1..=last).collect();
    for reader in join_all(readers).await {
        let (join_at, seen) = reader.expect("a reader");
        assert_eq!(seen, expected, "joined at batch {join_at}");
    }
}
