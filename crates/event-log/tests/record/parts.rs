//! The parts of runs.

use bytes::Bytes;
use domain::{RunId, Sequence, Timestamp};
use event_log::{LiveParts, LivePartsItem, PartsBounds, PartsOutcome, Record, RecordConfig, RecordError, StoredParts};
use uuid::Uuid;

use crate::proxy::Proxy;
use crate::support::{Writer, config, jetstream, record_of_one, soon, until};

const NONE: Sequence = Sequence(0);

fn run() -> RunId {
    RunId(Uuid::now_v7())
}

fn batch(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

async fn publish(record: &Record, run: RunId, previous: Sequence, text: &str) -> PartsOutcome {
    let key = Writer::of("c").key;
    record.publish_parts(&key, run, previous, batch(text)).await.unwrap()
}

async fn published(record: &Record, run: RunId, previous: Sequence, text: &str) -> Sequence {
    match publish(record, run, previous, text).await {
        PartsOutcome::Published { sequence } => sequence,
        superseded @ PartsOutcome::Superseded { .. } => panic!("{superseded:?}"),
    }
}

async fn texts_after(record: &Record, run: RunId, after: Sequence) -> Vec<Bytes> {
    let key = Writer::of("c").key;
    let page = record.parts_after(&key, run, after, PartsBounds::default());
    let batches = page.await.unwrap().batches;
    batches.into_iter().map(|stored| stored.bytes).collect()
}

#[tokio::test]
async fn batches_follow_the_named_batch() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let key = Writer::of("c").key;
    let (one, two) = (run(), run());
    assert_eq!(record.last_parts(&key, one).await.unwrap(), None);
    let a = published(&record, one, NONE, "a").await;
    let other = published(&record, two, NONE, "other").await;
    let b = published(&record, one, a, "b").await;
    let last = record.last_parts(&key, one).await.unwrap().unwrap();
    assert_eq!((last.sequence, &last.bytes), (b, &batch("b")));
    assert!(last.stored_at > Timestamp(1_700_000_000_000_000_000));
    let superseded = PartsOutcome::Superseded { last: Some(last) };
    for (case, previous) in
        [("as if first", NONE), ("after a", a), ("after another run's", other), ("after a missing batch", Sequence(99))]
    {
        let outcome = publish(&record, one, previous, "c").await;
        assert_eq!(outcome, superseded, "{case}");
    }
    // Equal bytes after the same batch are the same batch.
    assert_eq!(published(&record, one, a, "b").await, b);
    let texts = texts_after(&record, one, NONE).await;
    assert_eq!(texts, [batch("a"), batch("b")]);
    for (at, of, expected) in [
        (a, one, Some("a")),
        (other, one, None),
        (other, two, Some("other")),
        (NONE, one, None),
        (Sequence(99), one, None),
    ] {
        let found = record.parts_at(&key, of, at).await.unwrap();
        assert_eq!(found.map(|found| found.bytes), expected.map(batch), "{at}");
    }
}

#[tokio::test]
async fn pages_end_at_their_bounds_and_continue() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (key, run) = (Writer::of("c").key, run());
    let mut sequence = NONE;
    let texts: Vec<String> = (0..7).map(|number| format!("part-{number}")).collect();
    for text in &texts {
        sequence = published(&record, run, sequence, text).await;
    }
    let batches = |batches_max| PartsBounds { batches_max, ..PartsBounds::default() };
    let bytes = |bytes_max| PartsBounds { bytes_max, ..PartsBounds::default() };
    for (bounds, most) in [
        (PartsBounds::default(), 7),
        (batches(0), 1),
        (batches(3), 3),
        (batches(7), 7),
        (bytes(0), 1),
        (bytes(12), 2),
        (bytes(13), 2),
    ] {
        let (mut after, mut seen) = (NONE, Vec::new());
        loop {
            let page = record.parts_after(&key, run, after, bounds).await.unwrap();
            assert!(page.batches.len() <= most, "{bounds:?}");
            seen.extend(page.batches.into_iter().map(|stored| stored.bytes));
            match page.resume_after {
                Some(next) => after = next,
                None => break,
            }
        }
        let expected: Vec<Bytes> = texts.iter().map(|text| batch(text)).collect();
        assert_eq!(seen, expected, "{bounds:?}");
    }
}

async fn next(live: &mut LiveParts) -> Option<StoredParts> {
    match soon("parts", live.next()).await {
        LivePartsItem::Parts(stored) => Some(stored),
        LivePartsItem::Gap => None,
    }
}

#[tokio::test]
async fn live_parts_are_the_stored_ones_and_nothing_else() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (key, run_id, other) = (Writer::of("c").key, run(), run());
    let mut sequence = published(&record, run_id, NONE, "before").await;
    let mut live = record.live_parts(&key, run_id).await.unwrap();
    for text in ["a", "b"] {
        published(&record, other, NONE, "not ours").await;
        publish(&record, run_id, Sequence(99), "refused").await;
        sequence = published(&record, run_id, sequence, text).await;
        let stored = record.last_parts(&key, run_id).await.unwrap();
        assert_eq!(next(&mut live).await, stored);
    }
    server.kill();
    server.restart().await.unwrap();
    assert_eq!(next(&mut live).await, None);
    let sequence = published(&record, run_id, sequence, "c").await;
    let stored = next(&mut live).await.map(|stored| stored.sequence);
    assert_eq!(stored, Some(sequence));
}

#[tokio::test]
async fn an_erasure_removes_exactly_the_runs_of_its_conversation() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (one, two) = (run(), run());
    let a = published(&record, one, NONE, "a").await;
    published(&record, two, NONE, "b").await;
    let neighbour = Writer::of("c2").key;
    record.publish_parts(&neighbour, one, NONE, batch("theirs")).await.unwrap();
    for _ in 0..2 {
        record.erase_parts(&Writer::of("c").key).await.unwrap();
        for run in [one, two] {
            assert!(texts_after(&record, run, NONE).await.is_empty());
        }
    }
    let theirs = record.last_parts(&neighbour, one).await.unwrap();
    assert_eq!(theirs.map(|stored| stored.bytes), Some(batch("theirs")));
    // A batch after an erased one is superseded.
    let late = publish(&record, one, a, "late").await;
    assert_eq!(late, PartsOutcome::Superseded { last: None });
}

#[tokio::test]
async fn parts_expire() {
    let server = devstack::test::nats().await;
    let aging = RecordConfig { partitions: 1, parts_ttl_seconds: 1, ..config(&server.url()) };
    let record = Record::create(aging).await.unwrap();
    let (key, run) = (Writer::of("c").key, run());
    let first = published(&record, run, NONE, "1").await;
    until("the first part's age", || async { record.parts_at(&key, run, first).await.unwrap().is_none() }).await;
    assert!(texts_after(&record, run, NONE).await.is_empty());
    let outcome = publish(&record, run, first, "2").await;
    assert_eq!(outcome, PartsOutcome::Superseded { last: None });
}

#[tokio::test]
async fn a_lost_reply_is_resolved() {
    let server = devstack::test::nats().await;
    let direct = record_of_one(&server).await;
    let proxy = Proxy::to(&server.url()).await;
    let record = proxy.record().await;
    let run = run();
    let first = published(&record, run, NONE, "a").await;
    proxy.drop_reply();
    let second = published(&record, run, first, "b").await;
    assert!(!proxy.is_dropping(), "no reply was lost");
    let texts = texts_after(&direct, run, NONE).await;
    assert_eq!(texts, [batch("a"), batch("b")]);
    published(&record, run, second, "c").await;
}

#[tokio::test]
async fn a_record_of_an_earlier_version_without_parts() {
    let server = devstack::test::nats().await;
    let made = Record::create(config(&server.url())).await.unwrap();
    let context = jetstream(&server).await;
    for partition in 0..8 {
        let stream = format!("HANSARD_PARTS_{partition}");
        context.delete_stream(stream).await.unwrap();
    }
    let reader = Record::open(config(&server.url())).await.unwrap();
    let (key, run) = (Writer::of("c").key, run());
    reader.last_parts(&key, run).await.unwrap_err();
    let again = Record::create(config(&server.url())).await.unwrap();
    assert_eq!(again.id(), made.id());
    assert_eq!(reader.last_parts(&key, run).await.unwrap(), None);
    published(&again, run, NONE, "a").await;
    // A stream of another record is rejected.
    let stream = context.get_stream("HANSARD_PARTS_2").await.unwrap();
    let mut other = stream.cached_info().config.clone();
    assert_eq!(other.max_age, std::time::Duration::from_hours(1));
    let record = "0011223344556677".to_owned();
    other.metadata.insert("hansard_record".to_owned(), record);
    context.update_stream(other).await.unwrap();
    let refused = Record::create(config(&server.url())).await.unwrap_err();
    assert!(matches!(&refused, RecordError::Foreign { stream, .. } if stream == "HANSARD_PARTS_2"), "{refused:?}");
}
