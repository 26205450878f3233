//! The stream of calls: stored once, for a limited time, erasable in every file; and a record without the stream.

use std::time::Duration;

use bytes::Bytes;
use devstack::test::files_with;
use domain::{
    AgentId, CommitId, ConversationKey, CorrectedCounts, LogId, MeteredCall, OwnerDigest, Sequence, TenantId,
    Timestamp, TokenChanges, UsageCorrection,
};
use event_log::{LoggedSubject, Record};
use futures::StreamExt as _;
use uuid::Uuid;

use crate::erasures::after_restart;
use crate::support::{Writer, jetstream, record_of_one, until};

const SECRET: &str = "the-ladder-is-behind-the-barn";
const KEPT: &str = "the-ladder-is-new";
const HOUR: Duration = Duration::from_hours(1);

async fn publish(record: &Record, writer: &Writer, text: &'static str, ttl: Duration) -> LogId {
    let id = LogId(Uuid::now_v7());
    record.publish_log(&writer.key, id, text.into(), ttl).await.unwrap();
    id
}

fn usage(id: LogId, owner: Option<&OwnerDigest>) -> MeteredCall {
    MeteredCall {
        id,
        agent: AgentId::parse("support").unwrap(),
        api_key: None,
        owner: owner.cloned(),
        input_tokens: 1,
        output_tokens: 2,
    }
}

fn conversation_of(subject: &LoggedSubject) -> ConversationKey {
    let LoggedSubject::Conversation(key) = subject else { panic!("{subject:?}") };
    key.clone()
}

#[tokio::test]
async fn calls_are_stored_once_in_order_and_erased_in_every_file() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (erased, kept) = (Writer::of("erased"), Writer::of("kept"));
    for _ in 0..3 {
        let id = publish(&record, &erased, SECRET, HOUR).await;
        record.publish_log(&erased.key, id, SECRET.into(), HOUR).await.unwrap();
        publish(&record, &kept, KEPT, HOUR).await;
    }
    let followed: Vec<_> = record.follow_logs(Sequence(2)).take(4).collect().await;
    let followed = followed.into_iter().map(|message| {
        let message = message.unwrap();
        let conversation = conversation_of(&message.subject);
        (message.sequence.0, conversation, message.bytes)
    });
    let expected = (3..=6).map(|sequence| match sequence % 2 {
        1 => (sequence, erased.key.clone(), Bytes::from(SECRET)),
        _ => (sequence, kept.key.clone(), Bytes::from(KEPT)),
    });
    assert!(followed.eq(expected));
    assert_eq!(files_with(server.folder(), SECRET.as_bytes()).len(), 1);
    assert_eq!(record.erase_logs(&erased.key).await, Ok(3));
    assert_eq!(record.erase_logs(&erased.key).await, Ok(0));
    assert_eq!(files_with(server.folder(), SECRET.as_bytes()).len(), 0);
    assert_eq!(after_restart(&mut server, SECRET).await, 0);
    assert_eq!(files_with(server.folder(), KEPT.as_bytes()).len(), 1);
}

#[tokio::test]
async fn metered_calls_are_stored_once_and_erased_by_owner_in_every_file() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let tenant = Writer::of("c").key.tenant;
    let [ada, bob] = ["a1", "b2"].map(|digits| OwnerDigest::parse(&digits.repeat(16)).unwrap());
    let meter = async |owner: Option<&OwnerDigest>| {
        let call = usage(LogId(Uuid::now_v7()), owner);
        for _ in 0..2 {
            assert_eq!(record.publish_usage(&tenant, &call).await, Ok(true));
        }
        call
    };
    let first = meter(Some(&ada)).await;
    meter(Some(&bob)).await;
    meter(None).await;
    let message = record.follow_logs(Sequence(0)).next().await.unwrap().unwrap();
    assert_eq!(message.subject, LoggedSubject::Usage(tenant.clone()));
    assert_eq!(message.open_metered(), Ok(first));
    let last = async |owner| record.last_usage(&tenant, owner).await.unwrap();
    assert_eq!(last(Some(&ada)).await, Some(Sequence(1)));
    assert_eq!(last(None).await, Some(Sequence(3)));
    assert_eq!(record.erase_usage(&tenant, Some(&ada)).await, Ok(1));
    assert_eq!(last(Some(&ada)).await, None);
    assert_eq!(after_restart(&mut server, ada.as_str()).await, 0);
    assert_eq!(files_with(server.folder(), bob.as_str().as_bytes()).len(), 1);
    assert_eq!(record.erase_usage(&tenant, None).await, Ok(2));
    assert_eq!(files_with(server.folder(), bob.as_str().as_bytes()).len(), 0);
}

#[tokio::test]
async fn corrections_are_stored_once_for_each_tenant_and_erased_with_their_owner() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let [acme, other] = ["acme", "other"].map(|tenant| TenantId::parse(tenant).unwrap());
    let ada = OwnerDigest::parse(&"a1".repeat(16)).unwrap();
    let correction = |counts| UsageCorrection {
        id: CommitId(Uuid::nil()),
        agent: AgentId::parse("support").unwrap(),
        day: Timestamp(0),
        counts,
        tokens: TokenChanges { input: -1, ..TokenChanges::default() },
    };
    let of_ada = correction(CorrectedCounts::ModelCalls { api_key: None, owner: Some(ada.clone()) });
    let of_messages = correction(CorrectedCounts::Messages { model: None });
    // Tenants may choose the same id.
    for (tenant, correction) in [(&acme, &of_ada), (&acme, &of_messages), (&other, &of_messages)] {
        assert_eq!(record.publish_correction(tenant, correction).await, Ok(true));
    }
    let stored: Vec<_> = record.follow_logs(Sequence(0)).take(2).map(Result::unwrap).collect().await;
    let subjects: Vec<_> = stored.iter().map(|message| message.subject.clone()).collect();
    assert_eq!(subjects, [LoggedSubject::Correction(acme.clone()), LoggedSubject::Correction(other.clone())]);
    assert_eq!(stored[0].open_correction(), Ok(of_ada));
    assert_eq!(record.last_usage(&acme, Some(&ada)).await, Ok(Some(Sequence(1))));
    assert_eq!(record.erase_usage(&acme, Some(&ada)).await, Ok(1));
    assert_eq!(record.last_usage(&acme, None).await, Ok(None));
    assert_eq!(record.erase_usage(&other, None).await, Ok(1));
}

#[tokio::test]
async fn calls_expire() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let writer = Writer::of("c");
    publish(&record, &writer, KEPT, Duration::from_secs(1)).await;
    publish(&record, &writer, KEPT, HOUR).await;
    until("the first is gone", || async {
        let bounds = record.logs_bounds().await.ok().flatten();
        bounds.is_some_and(|bounds| (bounds.first, bounds.last) == (Sequence(2), Sequence(2)))
    })
    .await;
}

#[tokio::test]
async fn without_the_stream_only_the_log_is_off() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let context = jetstream(&server).await;
    context.delete_stream("HANSARD_LOGS").await.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "hello").await;
    assert_eq!(record.logs_bounds().await, Ok(None));
    assert_eq!(record.erase_logs(&writer.key).await, Ok(0));
    let id = LogId(Uuid::nil());
    let rejected = record.publish_log(&writer.key, id, KEPT.into(), HOUR).await;
    assert!(rejected.is_err());
    let call = usage(id, None);
    let tenant = &writer.key.tenant;
    assert_eq!(record.publish_usage(tenant, &call).await, Ok(false));
    assert_eq!(record.last_usage(tenant, None).await, Ok(None));
    assert_eq!(record.erase_usage(tenant, None).await, Ok(0));
    // A writer that starts creates it.
    let record = record_of_one(&server).await;
    publish(&record, &writer, KEPT, HOUR).await;
}
