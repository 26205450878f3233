//! Many reads of large commits at the same time, as a caller with many requests causes them.

use bytes::Bytes;
use event_log::{Record, RecordConfig};
use futures::future::join_all;

use crate::support::{Writer, config_of_one, jetstream};

/// With the default of `max_pending`, 64 MB, the server closes the connection of the whole process.
#[tokio::test(flavor = "multi_thread")]
async fn many_large_reads_keep_their_connection() {
    let server = devstack::test::nats().await;
    let config = RecordConfig {
        request_timeout_ms: 20_000,
        ..config_of_one(&server)
    };
    let record = Record::create(config).await.unwrap();
    let stream = jetstream(&server).await;
    let stored = stream.publish("hansard.0.acme.c", Bytes::from(vec![b'x'; 512 * 1024]));
    stored.await.unwrap().await.unwrap();
    let key = Writer::of("c").key;
    let reads = (0..1_024).map(|n| {
        let (record, key) = (record.clone(), key.clone());
        tokio::spawn(async move {
            match n % 8 {
                0 => record.last_from_leader(&key).await,
                _ => record.last(&key).await,
            }
        })
    });
    for read in join_all(reads).await {
        assert!(read.unwrap().unwrap().is_some());
    }
}
