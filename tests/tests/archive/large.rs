//! A conversation that is larger than one segment.

use domain::Sequence;

use crate::fixture::{Fixture, TENANT};
use crate::old_conversations::{OldConversation, noise};

/// Bytes of one message.
const MESSAGE_BYTES: usize = 480 * 1_024;
/// This number of messages exceeds one segment.
const MESSAGES: usize = 190;

#[tokio::test]
async fn large_conversations_span_segments() {
    let fixture = Fixture::start().await;
    let mut one = OldConversation::new("long");
    one.say(&fixture.record, 100, "").await;
    // The first commit is archived, too; the last one stays.
    for n in 0..MESSAGES {
        one.say(&fixture.record, 100, &noise(n, MESSAGE_BYTES)).await;
    }
    fixture.wait_for_rows(fixture.stack.servers.database_url()).await;
    let summary = fixture.archive().await;
    assert_eq!((&summary["segments"], &summary["commits"]), (&2.into(), &MESSAGES.into()), "{summary}");
    let segments = fixture.lines("archive list --json", 0).await;
    let bytes = |one: &serde_json::Value| one["sizeBytes"].as_u64().unwrap();
    assert!(segments.iter().all(|one| bytes(one) < 66 << 20), "{segments:?}");
    fixture.run("archive verify", 0).await;
    let read = fixture.run(&format!("archive read --tenant {TENANT} --conversation long"), 0).await;
    assert_eq!(read.stdout.lines().count(), MESSAGES);
    let partition = fixture.record.partition_of(&one.key).await.unwrap();
    let bounds = fixture.record.bounds_of(partition).await;
    assert_eq!(bounds.unwrap().first, Sequence(one.last.unwrap().1.0));
}
