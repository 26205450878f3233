//! The time of the servers.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::Timestamp;

use crate::support::{Writer, record_of_one};

fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(i64::try_from(since_epoch.as_nanos()).unwrap())
}

#[tokio::test]
async fn the_time_of_servers_is_known_and_counted_on() {
    let mut server = devstack::test::nats().await;
    let record = record_of_one(&server).await;
    let key = Writer::of("c").key;
    let before = now();
    let answered = record.server_time(&key).await.unwrap();
    // The server has the clock of this machine.
    assert!(answered.earliest <= now() && before <= answered.latest, "{before:?} {answered:?}");
    server.pause();
    let before = now();
    let counted = record.server_time(&key).await.unwrap();
    assert!(counted.earliest <= now() && before <= counted.latest, "{before:?} {counted:?}");
    assert!(counted.earliest > answered.earliest, "{answered:?} {counted:?}");
    server.resume();
    record.check().await.unwrap();
}
