//! An outage of a store: a warning and the caller's own messages, never an error.

use tests::eventually::eventually;
use tests::stack::Setup;
use wire::proto::history::v1 as proto;

use super::calls::{codes, key, load, load_request, record, record_request, short, try_load, try_record};

#[tokio::test(flavor = "multi_thread")]
async fn writer_outage() {
    let mut stack = Setup::tasks().start().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    record(&agent, &key, &["u 1"]).await;
    stack.writer.stop().await;
    let request = record_request(&key, &["u 1", "a 2"]);
    let recorded = try_record(&agent, request.clone()).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["HISTORY_UNAVAILABLE"]);
    assert_eq!((recorded.appended_count, recorded.history_key.as_str()), (0, "room"));
    // Loading needs no writer, and neither does the gateway's readiness.
    let loaded = load(&agent, &key, &["u 1", "a 2"]).await;
    assert_eq!(short(&loaded.messages), ["u 1", "a 2"]);
    stack.gateway.ready().await;
    stack.writer.start().await;
    let recorded = eventually("a record", || async {
        let recorded = try_record(&agent, request.clone()).await.expect("an answer");
        recorded.warnings.is_empty().then_some(recorded)
    })
    .await;
    assert_eq!(recorded.version, 3);
    assert_eq!(short(&load(&agent, &key, &[]).await.messages), ["u 1", "a 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_outage() {
    let mut stack = Setup::tasks().with_own_postgres().start().await;
    let agent = stack.any_agent().await;
    let key = key(&agent, "room");
    record(&agent, &key, &["u 1"]).await;
    stack.servers.postgres_mut().kill();
    let request = proto::LoadHistoryRequest { messages_max: 2, ..load_request(&key, &["u 1", "a 2", "u 3"]) };
    let loaded = try_load(&agent, request).await.expect("a history");
    assert_eq!(codes(&loaded.warnings), ["HISTORY_UNAVAILABLE"]);
    assert_eq!(short(&loaded.messages), ["a 2", "u 3"]);
    assert_eq!((loaded.version, loaded.history_key.as_str()), (0, "room"));
    let recorded = try_record(&agent, record_request(&key, &["u 1", "a 2"])).await.expect("an answer");
    assert_eq!(codes(&recorded.warnings), ["HISTORY_UNAVAILABLE"]);
    assert_eq!(recorded.appended_count, 0);
}
