//! A thief of a reader's NATS credentials tries to read the receipt keys.

use domain::Timestamp;
use futures::future::join_all;
use serde_json::json;
use tests::eventually::eventually;
use tests::nats_accounts;
use tests::raw_nats::RawNats;

use crate::fixture::{Fixture, current};
use crate::rotation;

const NOW: Timestamp = Timestamp(1_790_000_000_000_000_000);
/// Every request of the API that reads a message.
const READS: [&str; 6] = [
    "STREAM.MSG.GET.KV_HANSARD_restricted",
    "DIRECT.GET.KV_HANSARD_restricted",
    "DIRECT.GET.KV_HANSARD_restricted.$KV.HANSARD_restricted.receipt.keys",
    "CONSUMER.CREATE.KV_HANSARD_restricted",
    "CONSUMER.MSG.NEXT.KV_HANSARD_restricted.x",
    "STREAM.SNAPSHOT.KV_HANSARD_restricted",
];

#[tokio::test(flavor = "multi_thread")]
async fn reader_credentials_cannot_read_receipt_keys() {
    let mut fixture = Fixture::start().await;
    let master = current(&fixture.master_key);
    let operators = fixture.record("operator", &master).await;
    let keys = operators.receipt_keys(NOW).await.expect("keys");
    assert!(keys.signing().is_some());
    let urls = fixture.nats_url();
    let writer = fixture.record("writer", &master).await;
    assert_eq!(writer.existing_receipt_keys().await, Ok(Some(keys.clone())));
    let gateway = fixture.record("gateway", &master).await;
    assert!(gateway.existing_receipt_keys().await.is_err());
    for user in ["gateway", "projector"] {
        let mut thief = RawNats::connect(&urls, user, &nats_accounts::password(user)).await;
        for prefix in ["RECORD.API", "$JS.API"] {
            for read in READS {
                let subject = format!("{prefix}.{read}");
                let body = json!({"last_by_subj": "$KV.HANSARD_restricted.receipt.keys"});
                let errors = thief.publish(&subject, "_INBOX.x", &body.to_string()).await;
                assert_eq!(errors.len(), 1, "{user} publishes to {subject}");
            }
        }
        for subject in ["$KV.HANSARD_restricted.>", ">"] {
            let errors = thief.subscribe(subject).await;
            assert_eq!(errors.len(), 1, "{user} subscribes to {subject}");
        }
    }
    rotation::check_resumption(&mut fixture, &keys).await;
}

/// How often the gateway's log names the header.
fn warnings(fixture: &mut Fixture) -> usize {
    let gateway = fixture.stack.gateway.process().expect("a process");
    gateway.log().matches("X-Forwarded-For").count()
}

/// Repeated requests with a forged client address write one line to the log.
#[tokio::test(flavor = "multi_thread")]
async fn forged_client_addresses_log_one_warning() {
    let mut fixture = Fixture::start().await;
    fixture.operator().await.agent("acme", "support").await;
    let stranger = fixture.stranger();
    assert_eq!(stranger.get("/api/chats").await.status, 401);
    assert_eq!(warnings(&mut fixture), 0);
    let named = |n: u32| stranger.with("x-forwarded-for", &format!("198.51.100.{n}"));
    let asked = join_all((0..100).map(async |n| named(n).get("/api/chats").await.status));
    assert_eq!(asked.await, [401; 100]);
    eventually("a warning", || {
        let count = warnings(&mut fixture);
        async move { (count > 0).then_some(()) }
    })
    .await;
    assert_eq!(named(200).get("/api/chats").await.status, 401);
    assert_eq!(warnings(&mut fixture), 1);
}
