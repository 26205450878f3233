//! A thief of a reader's NATS credentials looks for the keys of receipts.

use domain::Timestamp;
use futures::future::join_all;
use serde_json::json;
use tests::eventually::eventually;
use tests::guarded;
use tests::raw_nats::RawNats;

use crate::ground::{Ground, current};
use crate::rotation;

const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);
/// Every request of the API that tells of a message.
const READS: [&str; 6] = [
    "STREAM.MSG.GET.KV_HANSARD_restricted",
    "DIRECT.GET.KV_HANSARD_restricted",
    "DIRECT.GET.KV_HANSARD_restricted.$KV.HANSARD_restricted.receipt.keys",
    "CONSUMER.CREATE.KV_HANSARD_restricted",
    "CONSUMER.MSG.NEXT.KV_HANSARD_restricted.x",
    "STREAM.SNAPSHOT.KV_HANSARD_restricted",
];

#[tokio::test(flavor = "multi_thread")]
async fn readers_credentials_do_not_reach_the_keys_of_receipts() {
    let mut ground = Ground::start().await;
    let master = current(&ground.master_key);
    let operators = ground.record("operator", &master).await;
    let keys = operators.receipt_keys(NOW).await.expect("keys");
    assert!(keys.signing().is_some());
    let urls = ground.nats_url();
    let writer = ground.record("writer", &master).await;
    assert_eq!(writer.existing_receipt_keys().await, Ok(Some(keys.clone())));
    let gateway = ground.record("gateway", &master).await;
    assert!(gateway.existing_receipt_keys().await.is_err());
    for user in ["gateway", "projector"] {
        let mut thief = RawNats::connect(&urls, user, &guarded::password(user)).await;
        for prefix in ["RECORD.API", "$JS.API"] {
            for read in READS {
                let subject = format!("{prefix}.{read}");
                let body = json!({"last_by_subj": "$KV.HANSARD_restricted.receipt.keys"});
                let refusals = thief.publish(&subject, "_INBOX.x", &body.to_string()).await;
                assert_eq!(refusals.len(), 1, "{user} publishes to {subject}");
            }
        }
        for subject in ["$KV.HANSARD_restricted.>", ">"] {
            let refusals = thief.subscribe(subject).await;
            assert_eq!(refusals.len(), 1, "{user} subscribes to {subject}");
        }
    }
    rotation::is_resumed(&mut ground, &keys).await;
}

/// How often the header is named in what the gateway has logged.
fn warnings(ground: &mut Ground) -> usize {
    let gateway = ground.stack.gateway.process().expect("a process");
    gateway.log().matches("X-Forwarded-For").count()
}

/// A stranger who names a client writes one line into the log, however often.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_asked_for_a_key() {
    let mut ground = Ground::start().await;
    ground.operator().await.agent("acme", "support").await;
    let stranger = ground.stranger();
    assert_eq!(stranger.get("/api/chats").await.status, 401);
    assert_eq!(warnings(&mut ground), 0);
    let named = |n: u32| stranger.with("x-forwarded-for", &format!("198.51.100.{n}"));
    let asked = join_all((0..100).map(async |n| named(n).get("/api/chats").await.status));
    assert_eq!(asked.await, [401; 100]);
    eventually("a warning", || {
        let count = warnings(&mut ground);
        async move { (count > 0).then_some(()) }
    })
    .await;
    assert_eq!(named(200).get("/api/chats").await.status, 401);
    assert_eq!(warnings(&mut ground), 1);
}
