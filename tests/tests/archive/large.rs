//! A conversation that no one segment holds.

use domain::Sequence;

use crate::ground::{Ground, TENANT};
use crate::old::{Old, noise};

/// Bytes of one message.
const MESSAGE_BYTES: usize = 480 * 1_024;
/// So many of them are more than a segment holds.
const MESSAGES: usize = 190;

#[tokio::test]
async fn a_conversation_goes_on_in_the_next_segment() {
    let ground = Ground::start().await;
    let mut one = Old::named("long");
    one.say(&ground.record, 100, "").await;
    // The first commit goes, too, and the last one stays.
    for n in 0..MESSAGES {
        one.say(&ground.record, 100, &noise(n, MESSAGE_BYTES)).await;
    }
    ground.projected(ground.stack.servers.database_url()).await;
    let told = ground.archive().await;
    assert_eq!(
        (&told["segments"], &told["commits"]),
        (&2.into(), &MESSAGES.into()),
        "{told}"
    );
    let segments = ground.lines("archive list --json", 0).await;
    let bytes = |one: &serde_json::Value| one["sizeBytes"].as_u64().unwrap();
    assert!(
        segments.iter().all(|one| bytes(one) < 66 << 20),
        "{segments:?}"
    );
    ground.run("archive verify", 0).await;
    let read = format!("archive read --tenant {TENANT} --conversation long");
    let read = ground.run(&read, 0).await;
    assert_eq!(read.stdout.lines().count(), MESSAGES);
    let bounds = ground
        .record
        .bounds_of(ground.record.partition_of(&one.key))
        .await;
    assert_eq!(bounds.unwrap().first, Sequence(one.last.unwrap().1.0));
}
