//! A follower reads one log after another.

use domain::{
    Actor, CommitId, ConversationKey, Event, EventId, EventTokens, Fact, Label, Lifecycle, RequestDigest, TenantId,
};
use event_log::{Append, AppendOutcome, Record, TraceHeaders};
use tests::dashboard::Browser;
use tests::eventually::within;
use tonic::Streaming;
use uuid::Uuid;
use wire::audit::AuditMonth;
use wire::commit::{Draft, seal};
use wire::proto::operate::v1::DashboardRole;
use wire::proto::operate::v1::{WatchAuditLogRequest, WatchAuditLogResponse};

use super::{entries, open, request};
use crate::fixture::Fixture;

/// Archives the log of a month, as a writer does at the turn of the month.
async fn archive(fixture: &Fixture, month: &str) {
    let record = Record::open(tests::settings::record(&fixture.stack.servers)).await.expect("a record");
    let conversation = AuditMonth::parse(month).expect("a month").log().expect("an id");
    let key = ConversationKey { tenant: TenantId::parse(fixture.tenant).expect("a tenant"), conversation };
    let last = record.last_from_leader(&key).await.expect("a record").expect("a log");
    let head = last.open_head().expect("a head");
    let id = CommitId(Uuid::now_v7());
    let event = Event {
        id: EventId::derived(id, 0),
        occurred_at: None,
        metadata: None,
        tokens: EventTokens::default(),
        fact: Fact::Lifecycle(Lifecycle::ConversationArchived),
    };
    let draft = Draft {
        tenant: &key.tenant,
        conversation: &key.conversation,
        id,
        request_digest: RequestDigest([0; 16]),
        recorded_at: head.recorded_at,
        actor: &Actor(Label::parse("test").expect("a label")),
        events: &[event],
    };
    let sealed = seal(&draft, Some((&head, last.position.sequence))).expect("a commit");
    let append = Append {
        commit: id,
        message: sealed.message,
        expected: Some(last.position.sequence),
        hibernated_in: None,
        trace: TraceHeaders::default(),
    };
    let outcome = record.append(&key, append).await.expect("an outcome");
    assert!(matches!(outcome, AppendOutcome::Committed { .. }), "{outcome:?}");
}

async fn next_position(stream: &mut Streaming<WatchAuditLogResponse>) -> String {
    let response = within("an entry", stream.message()).await.expect("a stream").expect("an entry");
    response.entry.expect("an entry").position
}

fn month(position: &str) -> &str {
    position.split_once(':').expect("a month").0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_crosses_the_turn_of_the_month() {
    let fixture = Fixture::new().await;
    let sign_in = async || {
        let client = fixture.stack.http_client();
        Browser::signed_in(client, &fixture.operator, fixture.tenant, DashboardRole::Viewer).await
    };
    let live = || WatchAuditLogRequest { follow: true, ..request(fixture.tenant) };
    // It starts before the first log exists.
    let mut stream = open(&fixture, live()).await.expect("a stream");
    sign_in().await;
    let mut positions = vec![next_position(&mut stream).await];
    sign_in().await;
    positions.push(next_position(&mut stream).await);
    // A writer whose clock is ahead has archived the log. This writer continues in the log of the next month.
    let current = month(&positions[0]).to_owned();
    archive(&fixture, &current).await;
    for _ in 0..2 {
        sign_in().await;
        positions.push(next_position(&mut stream).await);
    }
    let later = AuditMonth::parse(&current).expect("a month").later().to_string();
    let months: Vec<&str> = positions.iter().map(|position| month(position)).collect();
    assert_eq!(months, [current.as_str(), &current, &later, &later]);
    let read: Vec<String> =
        entries(&fixture, request(fixture.tenant)).await.into_iter().map(|entry| entry.position).collect();
    assert_eq!(read, positions);
    // From any position, also the last one of the old log, the rest follows.
    for (index, position) in positions.iter().enumerate().take(3) {
        let after = WatchAuditLogRequest { after_position: position.clone(), ..live() };
        let mut stream = open(&fixture, after).await.expect("a stream");
        for expected in &positions[index + 1..] {
            assert_eq!(next_position(&mut stream).await, *expected);
        }
    }
}
