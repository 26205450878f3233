//! Partitions are added while conversations are created, appended to and read.

use std::collections::BTreeMap;

use bytes::Bytes;
use devstack::NatsServer;
use domain::{ConversationKey, Layout, LayoutError, Partition, RunId, Sequence, Stage};
use event_log::{AppendOutcome, GrowthError, LiveItem, Record, RecordConfig, TailBounds};
use futures::future::join_all;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{Writer, config, jetstream, soon, until};

const BEFORE: u16 = 2;
const AFTER: u16 = 6;

fn config_of(server: &NatsServer) -> RecordConfig {
    RecordConfig { partitions: BEFORE, ..config(&server.url()) }
}

async fn record(server: &NatsServer) -> Record {
    Record::create(config_of(server)).await.unwrap()
}

/// Grows to a stage, without the time between stages.
async fn grow(record: &Record, stage: Stage) {
    record.announce_partitions(AFTER, &[]).await.unwrap();
    while record.layout().stage() != stage {
        record.advance_layout().await.unwrap();
    }
}

/// Waits until a process knows a stage.
async fn knows(record: &Record, stage: Stage) {
    let knows = || async {
        let layout = record.layout();
        layout.partitions() == AFTER && layout.stage() == stage
    };
    until("the layout", knows).await;
}

/// The partitions in which conversations have commits, and the numbers of these; without messages that close a subject.
async fn stored(server: &NatsServer) -> BTreeMap<ConversationKey, Vec<(u16, u64)>> {
    let context = jetstream(server).await;
    let mut stored = BTreeMap::<ConversationKey, Vec<(u16, u64)>>::new();
    for partition in 0..AFTER {
        let Ok(stream) = context.get_stream(format!("HANSARD_{partition}")).await else {
            continue;
        };
        let mut counts = BTreeMap::<ConversationKey, u64>::new();
        for sequence in 1..=stream.cached_info().state.last_sequence {
            let Ok(message) = stream.get_raw_message(sequence).await else {
                continue;
            };
            let conversation = message.subject.rsplit('.').next().unwrap().to_owned();
            if !message.payload.is_empty() {
                *counts.entry(Writer::of(&conversation).key).or_default() += 1;
            }
        }
        for (key, count) in counts {
            stored.entry(key).or_default().push((partition, count));
        }
    }
    stored
}

async fn commits(record: &Record, writer: &Writer) -> usize {
    let tail = record.tail(&writer.key, Sequence(0), TailBounds::default());
    tail.await.unwrap().commits.len()
}

/// Conversations that are created in each stage.
const EACH: usize = 40;

/// Conversations stay where they are, new ones are spread over all partitions, and all processes find both.
#[tokio::test(flavor = "multi_thread")]
async fn conversations_stay_and_new_ones_use_the_new_partitions() {
    let server = devstack::test::nats().await;
    let record = record(&server).await;
    let other = Record::open(config_of(&server)).await.unwrap();
    let mut all = Vec::new();
    for stage in [None, Some(Stage::Announced), Some(Stage::Closing), Some(Stage::Open)] {
        if let Some(stage) = stage {
            grow(&record, stage).await;
            knows(&other, stage).await;
        }
        let mut created: Vec<_> =
            (0..EACH).map(|n| Writer::of(&format!("{stage:?}-{n}").replace(['(', ')'], ""))).collect();
        for (number, writer) in created.iter_mut().enumerate() {
            let by = if number % 2 == 0 { &record } else { &other };
            assert_eq!(by.last(&writer.key).await, Ok(None));
            assert_eq!(by.last_from_leader(&writer.key).await, Ok(None));
            writer.append(by, "created").await;
        }
        all.extend(created);
        // Every conversation is found and appended to by both processes, with what they remember and without.
        let fresh = Record::open(config_of(&server)).await.unwrap();
        for writer in &mut all {
            for by in [&record, &other, &fresh] {
                writer.append(by, "more").await;
                let last = by.last_from_leader(&writer.key).await.unwrap().unwrap();
                assert_eq!(last.position.partition, by.partition_of(&writer.key).await.unwrap());
                assert_eq!(last.open_head().unwrap(), writer.head.clone().unwrap().0);
            }
        }
    }
    let removed = record.remove_closings().await.unwrap();
    assert!(removed > 0, "no subject was closed");
    assert_eq!(record.remove_closings().await, Ok(0));
    check_places(&server, &record, &all).await;
}

/// Every conversation is where its stage created it, with all of its commits, and is listed there.
async fn check_places(server: &NatsServer, record: &Record, all: &[Writer]) {
    let stored = stored(server).await;
    assert_eq!(stored.len(), all.len());
    let layout = |stage| Layout::from_parts(&[BEFORE, AFTER], stage).unwrap();
    for (at, writer) in all.iter().enumerate() {
        let layout = match at / EACH {
            0 => Layout::new(BEFORE),
            1 => layout(Stage::Announced),
            2 => layout(Stage::Closing),
            _ => layout(Stage::Open),
        };
        let partition = layout.creation(&writer.key).partition;
        let count = u64::try_from(1 + 3 * (4 - at / EACH)).unwrap();
        assert_eq!(stored[&writer.key], [(partition.0, count)]);
        assert_eq!(commits(record, writer).await, usize::try_from(count).unwrap());
    }
    for partition in (0..AFTER).map(Partition) {
        let listed = record.conversations(partition, None).await.unwrap();
        let expected = stored.iter().filter(|(_, at)| at[0].0 == partition.0);
        assert_eq!(listed.len(), expected.count(), "{partition}");
    }
}

/// Two processes create the same conversations at the same time, while one of them may know the previous stage only.
#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_created_once_in_every_stage() {
    const ROUNDS: usize = 4;
    const AT_ONCE: usize = 60;
    let server = devstack::test::nats().await;
    let record = record(&server).await;
    let other = Record::open(config_of(&server)).await.unwrap();
    let mut created = 0;
    for stage in [Stage::Announced, Stage::Closing, Stage::Open] {
        for round in 0..ROUNDS {
            let mut racing = JoinSet::new();
            for number in 0..AT_ONCE {
                let id = format!("{stage:?}-{round}-{number}");
                for by in [&record, &other] {
                    let (by, writer) = (by.clone(), Writer::of(&id));
                    racing.spawn(async move {
                        let append = writer.seal("created").append;
                        by.append(&writer.key, append).await.unwrap()
                    });
                }
            }
            if round == 1 {
                grow(&record, stage).await;
            }
            let outcomes = racing.join_all().await;
            let is_first = |one: &&AppendOutcome| matches!(one, AppendOutcome::Committed { .. });
            assert_eq!(outcomes.iter().filter(is_first).count(), AT_ONCE);
            created += AT_ONCE;
        }
        knows(&other, stage).await;
    }
    let stored = stored(&server).await;
    assert_eq!(stored.len(), created);
    let twice = stored.values().filter(|at| at[..] != [(at[0].0, 1)]);
    assert_eq!(twice.count(), 0);
}

/// A retry of the first append in the next stage finds the commit of the attempt before it.
#[tokio::test]
async fn a_retry_in_a_later_stage_is_the_same_commit() {
    let server = devstack::test::nats().await;
    let record = record(&server).await;
    let mut writers: Vec<_> = (0..30).map(|n| Writer::of(&format!("c{n}"))).collect();
    let mut appends = Vec::new();
    for writer in &mut writers {
        let sealed = writer.seal("created");
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        appends.push(sealed.append.clone());
        writer.advance(sealed, outcome);
    }
    for stage in [Stage::Announced, Stage::Closing, Stage::Open] {
        grow(&record, stage).await;
        // A process that has not found these conversations before.
        let fresh = Record::open(config_of(&server)).await.unwrap();
        for (writer, append) in writers.iter().zip(&appends) {
            let outcome = fresh.append(&writer.key, append.clone()).await.unwrap();
            let sequence = match outcome {
                AppendOutcome::Committed { sequence } => sequence,
                AppendOutcome::Superseded { last: Some(last) } => last.position.sequence,
                AppendOutcome::Duplicate { .. } | AppendOutcome::Superseded { last: None } => {
                    panic!("{outcome:?}")
                }
            };
            assert_eq!(sequence, writer.head.as_ref().unwrap().1);
        }
    }
    let stored = stored(&server).await;
    assert!(stored.values().all(|at| at[..] == [(at[0].0, 1)]), "{stored:?}");
}

/// Live subscriptions and the parts of runs follow a conversation into a new partition.
#[tokio::test(flavor = "multi_thread")]
async fn live_readers_and_parts_find_a_new_partition() {
    let server = devstack::test::nats().await;
    let record = record(&server).await;
    let mut writers: Vec<_> = (0..20).map(|n| Writer::of(&format!("c{n}"))).collect();
    let live = writers.iter().map(|writer| record.live(&writer.key));
    let mut live: Vec<_> = join_all(live).await.into_iter().map(Result::unwrap).collect();
    grow(&record, Stage::Closing).await;
    for (writer, live) in writers.iter_mut().zip(&mut live) {
        let sequence = writer.append(&record, "created").await;
        let run = RunId(Uuid::now_v7());
        let part = Bytes::from_static(b"a part");
        record.publish_parts(&writer.key, run, Sequence(0), part).await.unwrap();
        let last = record.last_parts(&writer.key, run).await.unwrap().unwrap();
        let partition = record.partition_of(&writer.key).await.unwrap();
        assert_eq!(last.partition, partition);
        let item = loop {
            match soon("a commit", live.next()).await {
                LiveItem::Commit(commit) => break commit,
                LiveItem::Gap => {}
            }
        };
        assert_eq!((item.position.partition, item.position.sequence), (partition, sequence));
        assert_eq!(record.erase_parts(&writer.key).await, Ok(1));
    }
}

#[tokio::test]
async fn an_invalid_growth_changes_nothing() {
    let server = devstack::test::nats().await;
    let record = record(&server).await;
    let streams = || async {
        let names = jetstream(&server).await;
        futures::TryStreamExt::try_collect::<Vec<_>>(names.stream_names()).await.unwrap().len()
    };
    let before = streams().await;
    for partitions in [0, 1] {
        let grown = record.announce_partitions(partitions, &[]).await;
        let current = BEFORE;
        assert!(
            matches!(grown, Err(GrowthError::Layout(LayoutError::NotMore { current: c })) if c == current),
            "{grown:?}"
        );
    }
    let given = domain::PARTITIONS_MAX + 1;
    let grown = record.announce_partitions(given, &[]).await;
    assert!(matches!(grown, Err(GrowthError::Layout(LayoutError::TooMany { .. }))), "{grown:?}");
    assert_eq!(streams().await, before);
    // The present number: nothing to do.
    record.announce_partitions(BEFORE, &[]).await.unwrap();
    assert_eq!(record.remove_closings().await, Ok(0));
    assert_eq!(streams().await, before);

    record.announce_partitions(AFTER, &[]).await.unwrap();
    record.announce_partitions(AFTER, &[]).await.unwrap();
    let grown = record.announce_partitions(AFTER + 1, &[]).await;
    assert!(matches!(grown, Err(GrowthError::Layout(LayoutError::Growing { partitions: AFTER }))), "{grown:?}");
    // The number at the creation and the present one can be configured.
    for (partitions, is_valid) in [(BEFORE, true), (AFTER, true), (AFTER - 1, false)] {
        let config = RecordConfig { partitions, ..config_of(&server) };
        let opened = Record::open(config.clone()).await;
        assert_eq!(opened.is_ok(), is_valid, "{partitions}");
        assert_eq!(Record::create(config).await.is_ok(), is_valid);
    }
}

/// An earlier version created the stream with the entry's subject alone, to which a push consumer can deliver.
#[tokio::test(flavor = "multi_thread")]
async fn creating_a_record_again_widens_the_subjects_of_its_layout() {
    let server = devstack::test::nats().await;
    grow(&record(&server).await, Stage::Open).await;
    let context = jetstream(&server).await;
    let config = async || context.get_stream("HANSARD_LAYOUT").await.unwrap().cached_info().config.clone();
    let mut earlier = config().await;
    assert_eq!(earlier.subjects, ["hansard-layout.*"]);
    earlier.subjects = vec!["hansard-layout.partitions".to_owned()];
    context.update_stream(&earlier).await.unwrap();
    let again = record(&server).await;
    assert_eq!(config().await.subjects, ["hansard-layout.*"]);
    assert_eq!(again.layout().partitions(), AFTER);
    assert_eq!(again.layout().stage(), Stage::Open);
}
