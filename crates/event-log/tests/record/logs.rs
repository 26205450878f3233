//! The stream of logged calls: kept once and for a while, erased in every file; and a record that has no such stream.

use std::time::Duration;

use async_nats::jetstream;
use bytes::Bytes;
use domain::{LogId, Sequence};
use event_log::{Record, Unavailable};
use futures::StreamExt as _;
use uuid::Uuid;

use crate::erasures::{after_restart, files_with};
use crate::support::{Writer, record_of_one, until};

const SECRET: &str = "the-ladder-is-behind-the-barn";
const KEPT: &str = "the-ladder-is-new";
const HOUR: Duration = Duration::from_hours(1);

async fn keep(record: &Record, of: &Writer, (text, kept_for): (&str, Duration)) -> LogId {
    let id = LogId(Uuid::now_v7());
    again(record, of, id, (text, kept_for)).await.unwrap();
    id
}

async fn again(
    record: &Record,
    of: &Writer,
    id: LogId,
    (text, kept_for): (&str, Duration),
) -> Result<(), Unavailable> {
    let message = (Bytes::from(text.to_owned()), kept_for);
    record.publish_log(&of.key, id, message).await
}

#[tokio::test]
async fn calls_are_kept_once_in_order_and_erased_in_every_file() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let (erased, kept) = (Writer::of("erased"), Writer::of("kept"));
    for _ in 0..3 {
        let id = keep(&record, &erased, (SECRET, HOUR)).await;
        again(&record, &erased, id, (SECRET, HOUR)).await.unwrap();
        keep(&record, &kept, (KEPT, HOUR)).await;
    }
    let followed: Vec<_> = record.follow_logs(Sequence(2)).take(4).collect().await;
    let followed = followed.into_iter().map(Result::unwrap);
    let followed: Vec<_> = followed
        .map(|message| (message.sequence.0, message.key.unwrap(), message.bytes))
        .collect();
    let expected = (3..=6).map(|sequence| match sequence % 2 {
        1 => (sequence, erased.key.clone(), Bytes::from(SECRET)),
        _ => (sequence, kept.key.clone(), Bytes::from(KEPT)),
    });
    assert_eq!(followed, expected.collect::<Vec<_>>());
    assert_eq!(files_with(server.folder(), SECRET), 1);
    assert_eq!(record.erase_logs(&erased.key).await, Ok(3));
    assert_eq!(record.erase_logs(&erased.key).await, Ok(0));
    assert_eq!(files_with(server.folder(), SECRET), 0);
    assert_eq!(after_restart(&mut server, SECRET).await, 0);
    assert_eq!(files_with(server.folder(), KEPT), 1);
}

#[tokio::test]
async fn a_call_goes_when_its_time_is_over() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let of = Writer::of("c");
    keep(&record, &of, (KEPT, Duration::from_secs(1))).await;
    keep(&record, &of, (KEPT, HOUR)).await;
    until("the first is gone", || async {
        let bounds = record.logs_bounds().await.ok().flatten();
        bounds.is_some_and(|bounds| (bounds.first, bounds.last) == (Sequence(2), Sequence(2)))
    })
    .await;
}

#[tokio::test]
async fn without_the_stream_there_is_no_log_and_all_else_works() {
    let server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let client = async_nats::connect(server.url()).await.unwrap();
    let deleted = jetstream::new(client).delete_stream("HANSARD_LOGS").await;
    deleted.unwrap();
    let mut writer = Writer::of("c");
    writer.append(&record, "hello").await;
    assert_eq!(record.logs_bounds().await, Ok(None));
    assert_eq!(record.erase_logs(&writer.key).await, Ok(0));
    let refused = again(&record, &writer, LogId(Uuid::nil()), (KEPT, HOUR)).await;
    assert!(refused.is_err());
    // A writer that starts makes it.
    let record = record_of_one(&server).await;
    keep(&record, &writer, (KEPT, HOUR)).await;
}
