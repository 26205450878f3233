//! A thief of a reader's NATS credentials looks for the keys of receipts.

use domain::Timestamp;
use event_log::Record;
use serde_json::json;
use tests::guarded;
use tests::raw_nats::RawNats;
use tests::settings;

use crate::ground::Ground;

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
    let ground = Ground::start().await;
    let operators = guarded::record(&ground.stack).await;
    let keys = operators.receipt_keys(NOW).await.expect("keys");
    assert!(keys.signing().is_some());
    let urls = settings::record(&ground.stack.servers).nats_url;
    let as_user = async |user| Record::open(guarded::record_config(&urls, user)).await;
    let writer = as_user("writer").await.expect("a record");
    assert_eq!(writer.receipt_keys_made().await, Ok(Some(keys)));
    let gateway = as_user("gateway").await.expect("a record");
    assert!(gateway.receipt_keys_made().await.is_err());
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
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_is_asked_for_a_key() {
    let ground = Ground::start().await;
    ground.operator().await.agent("acme", "support").await;
    let answer = ground.stranger().get("/api/chats").await;
    assert_eq!(answer.status, 401);
}
