//! Erased content is in no file of the server's store.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use devstack::test::files_with;
use devstack::{NatsConfig, NatsServer};
use domain::{Partition, RunId, Sequence, Timestamp};
use event_log::Removal;
use uuid::Uuid;

use crate::support::{Writer, jetstream, record_of_one, tenant, until};

const SECRET: &str = "the-parcel-is-under-the-blue-bench";
const KEPT: &str = "the-weather-is-fine-in-oslo";

/// The number of files that contain a text after the server was killed and restarted.
pub(crate) async fn after_restart(server: &mut NatsServer, text: &str) -> usize {
    server.kill();
    server.restart().await.unwrap();
    files_with(server.folder(), text.as_bytes()).len()
}

#[tokio::test]
async fn erased_commits_and_parts_are_in_no_file() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (mut erased, mut kept) = (Writer::of("erased"), Writer::of("kept"));
    for round in 0..40 {
        erased.append(&record, &format!("{SECRET} {round}")).await;
        kept.append(&record, &format!("{KEPT} {round}")).await;
    }
    let run = RunId(Uuid::now_v7());
    let part = Bytes::from(format!("{SECRET} in a part"));
    record.publish_parts(&erased.key, run, Sequence(0), part).await.unwrap();
    assert!(files_with(server.folder(), SECRET.as_bytes()).len() >= 2);
    erased.append(&record, "a tombstone").await;
    assert_eq!(record.erase_before_last(&erased.key).await, Ok(40));
    assert_eq!(record.erase_parts(&erased.key).await, Ok(1));
    // There is no other replica to repair.
    let standing = record.partition_status(Partition(0)).await.unwrap();
    assert_eq!(standing.removed(), 40);
    for stream in record.erased_streams() {
        assert_eq!(record.count_removed(&stream).await, Ok(0));
        assert_eq!(record.erase_again(&stream, |_| {}).await, Ok(0));
    }
    for text in [SECRET, KEPT] {
        let expected = usize::from(text == KEPT);
        assert_eq!(files_with(server.folder(), text.as_bytes()).len(), expected, "{text}");
        assert_eq!(after_restart(&mut server, text).await, expected, "{text}");
    }
    let listed = record.conversations(Partition(0), Some(&tenant("acme"))).await.unwrap();
    let counts: Vec<_> = listed.iter().map(|listed| (listed.key.conversation.as_str(), listed.commits)).collect();
    assert_eq!(counts, [("erased", 1), ("kept", 40)]);
    let others = record.conversations(Partition(0), Some(&tenant("other"))).await;
    assert_eq!(others, Ok(Vec::new()));
    assert_eq!(record.conversations(Partition(0), None).await, Ok(listed));
}

/// What `hansard archive run --removal delete` relies on. Seven messages of 1 MiB are a block of the server.
#[tokio::test]
async fn deleted_messages_stay_in_a_block_until_more_than_half_of_it_is_deleted() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let stream = jetstream(&server).await;
    let key = Writer::of("c").key;
    let text = |n: u64| format!("{SECRET} {n}.");
    for n in 1..=8 {
        let mut payload = text(n).into_bytes();
        payload.resize(1024 * 1024, b'-');
        stream.publish("hansard.0.acme.c", payload.into()).await.unwrap().await.unwrap();
    }
    let three = [1, 3, 5].map(Sequence);
    assert_eq!(record.trim(&key, &three, Removal::Delete).await, Ok(3));
    for n in 1..=8 {
        assert_eq!(files_with(server.folder(), text(n).as_bytes()).len(), 1, "{n}");
    }
    let fourth = [Sequence(7)];
    assert_eq!(record.trim(&key, &fourth, Removal::Delete).await, Ok(1));
    until("a compacted block", || async { files_with(server.folder(), text(1).as_bytes()).is_empty() }).await;
    for n in 1..=8 {
        let is_left = ![1, 3, 5, 7].contains(&n);
        assert_eq!(files_with(server.folder(), text(n).as_bytes()).len(), usize::from(is_left), "{n}");
    }
}

/// Why `docs/how-to/erase.md` advises against encryption by the server: nats-server 2.15.1 overwrites nothing then, and who has
/// its key can read what was erased.
#[tokio::test]
async fn a_server_that_encrypts_its_files_keeps_erased_commits() {
    let encrypts = |config: &mut NatsConfig| {
        let store = config.folder.join("store");
        config.extra = format!(
            "jetstream {{\n store_dir: {store:?}\n sync_interval: always\n cipher: aes\n \
             key: \"{}\"\n}}\n",
            "k".repeat(32)
        );
    };
    let server = devstack::test::nats_with(encrypts).await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("erased");
    for round in 0..40 {
        writer.append(&record, &format!("{SECRET} {round}")).await;
    }
    assert_eq!(files_with(server.folder(), SECRET.as_bytes()).len(), 0);
    let before = block_of_partition(server.folder());
    assert_eq!(record.erase_before_last(&writer.key).await, Ok(39));
    assert!(block_of_partition(server.folder()).starts_with(&before));
}

/// The first block of partition 0.
fn block_of_partition(folder: &Path) -> Vec<u8> {
    let streams = folder.join("store/jetstream/$G/streams");
    fs::read(streams.join("HANSARD_0/msgs/1.blk")).unwrap()
}

#[tokio::test]
async fn pending_erasures_are_listed_until_they_end() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    record.ensure_erasures().await.unwrap();
    let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let (a, b) = (Writer::of("a").key, Writer::of("b").key);
    assert_eq!(record.pending_erasure(&a).await, Ok(None));
    assert_eq!(record.count_pending_erasures().await, Ok(0));
    for (key, behind, now) in [(&a, Sequence(7), Timestamp(1)), (&b, Sequence(3), Timestamp(2))] {
        record.begin_erasure(key, behind, one, now).await.unwrap();
    }
    // Requested again by another process, with an earlier commit: the later commit and the earlier time stay.
    let first = record.pending_erasure(&a).await.unwrap();
    let later = Timestamp(9);
    let unseen = record.replace_erasure(&a, Sequence(5), other, later, None);
    assert_eq!(unseen.await, Ok(None));
    let begun = record.replace_erasure(&a, Sequence(5), other, later, first.as_ref()).await.unwrap().unwrap();
    let entry = record.pending_erasure(&a).await.unwrap().unwrap();
    assert_eq!(begun.revision, entry.revision);
    assert_eq!((entry.behind, entry.begun_at, entry.holder), (Sequence(7), Timestamp(1), other));
    let listed = async |after, most| {
        record.pending_erasures(after, most).await.unwrap().into_iter().map(|entry| entry.key).collect::<Vec<_>>()
    };
    assert_eq!(listed(Sequence(0), 9).await, [b.clone(), a.clone()]);
    assert_eq!(listed(Sequence(0), 1).await, std::slice::from_ref(&b));
    assert_eq!(listed(Sequence(2), 9).await, std::slice::from_ref(&a));

    let held = record.renew_erasure(&entry, one).await.unwrap().unwrap();
    assert_eq!(record.renew_erasure(&entry, other).await, Ok(None));
    assert_eq!(record.pending_erasure(&a).await.unwrap().unwrap().holder, one);
    // An entry that was written again since stays.
    record.end_erasure(&entry).await.unwrap();
    assert_eq!(record.count_pending_erasures().await, Ok(2));
    for _ in 0..2 {
        record.end_erasure(&held).await.unwrap();
        assert_eq!(record.pending_erasure(&a).await, Ok(None));
        assert_eq!(listed(Sequence(0), 9).await, std::slice::from_ref(&b));
    }
    assert_eq!(record.renew_erasure(&held, one).await, Ok(None));
}

#[tokio::test]
async fn a_partition_is_exhausted_without_further_messages() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (mut gone, mut kept) = (Writer::of("gone"), Writer::of("kept"));
    kept.append(&record, "one").await;
    for _ in 0..3 {
        gone.append(&record, "another").await;
    }
    record.erase_before_last(&gone.key).await.unwrap();
    // The messages 1 and 4 remain.
    for (after, last, expected) in
        [(0, 0, true), (0, 1, false), (1, 3, true), (1, 4, false), (3, 4, false), (4, 4, true), (4, 9, true)]
    {
        let exhausted = record.is_exhausted(Partition(0), Sequence(after), Sequence(last));
        assert_eq!(exhausted.await, Ok(expected), "{after} {last}");
    }
}
