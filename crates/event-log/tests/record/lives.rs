//! Live subscriptions.

use event_log::{LiveItem, LiveSubscription};

use crate::support::{Writer, record_of_one, soon};

/// More than a subscription buffers for a slow reader.
const TOO_MANY: u64 = 2_100;

async fn check(live: &mut LiveSubscription, expected: Option<u64>) {
    let seen = match soon("a live item", live.next()).await {
        LiveItem::Commit(commit) => Some(commit.position.sequence.0),
        LiveItem::Gap => None,
    };
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn subscriptions_return_exactly_the_stored_commits() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (mut writer, mut other) = (Writer::of("c"), Writer::of("other"));
    writer.append(&record, "before").await;
    let mut live = record.live(&writer.key).await.unwrap();
    let refused = Writer::of("c").seal("refused").append;
    record.append(&writer.key, refused).await.unwrap();
    for number in 0..10 {
        other.append(&record, "not ours").await;
        let mut sealed = writer.seal(&number.to_string());
        sealed.append.trace.put("traceparent", "00-trace-01");
        let outcome = record.append(&writer.key, sealed.append.clone()).await;
        let at = writer.advance(sealed.clone(), outcome);
        let LiveItem::Commit(commit) = soon("a commit", live.next()).await else {
            panic!("a gap");
        };
        assert_eq!(commit.position.sequence, at);
        assert_eq!(commit.message, sealed.append.message);
        assert_eq!(commit.trace, sealed.append.trace);
    }
}

#[tokio::test]
async fn a_reconnect_is_a_gap() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut live = record.live(&writer.key).await.unwrap();
    let at = writer.append(&record, "first").await;
    check(&mut live, Some(at.0)).await;
    for _ in 0..2 {
        server.kill();
        server.restart().await.unwrap();
        check(&mut live, None).await;
        let at = writer.append(&record, "next").await;
        check(&mut live, Some(at.0)).await;
    }
}

#[tokio::test]
async fn a_slow_reader_gets_a_gap() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let mut writer = Writer::of("c");
    let mut live = record.live(&writer.key).await.unwrap();
    for number in 0..TOO_MANY {
        writer.append(&record, &number.to_string()).await;
    }
    let mut received = 0;
    for sequence in 1.. {
        match soon("a live item", live.next()).await {
            LiveItem::Commit(commit) => {
                assert_eq!(commit.position.sequence.0, sequence);
                received += 1;
            }
            LiveItem::Gap => panic!("a gap before a later commit came"),
        }
        if received == 2_048 {
            break;
        }
    }
    let at = writer.append(&record, "after").await;
    check(&mut live, None).await;
    check(&mut live, Some(at.0)).await;
}
