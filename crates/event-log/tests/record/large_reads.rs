//! Many reads of large commits at the same time, as a caller with many requests causes them.

use bytes::Bytes;
use devstack::{NatsConfig, NatsServer};
use event_log::{Record, RecordConfig};
use futures::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Writer, config_of_one, jetstream};

/// Reads at the same time: together 512 MiB.
const READS: usize = 1_024;
const COMMIT_BYTES: usize = 512 * 1024;
/// More than the replies to the reads that are in flight while they are limited, 27 MiB.
const MAX_PENDING: &str = "max_pending: 48MB\n";

/// The server closes the connection of the process, and every read has its answer nevertheless.
#[tokio::test(flavor = "multi_thread")]
async fn more_large_reads_than_a_connection_holds_are_answered() {
    let small = |config: &mut NatsConfig| MAX_PENDING.clone_into(&mut config.extra);
    let server = devstack::test::nats_with(small).await;
    let config = RecordConfig { request_timeout_ms: 60_000, ..config_of_one(&server) };
    let record = Record::create(config).await.unwrap();
    let stream = jetstream(&server).await;
    let commit = Bytes::from(vec![b'x'; COMMIT_BYTES]);
    stream.publish("hansard.0.acme.c", commit).await.unwrap().await.unwrap();
    let key = Writer::of("c").key;
    let reads = (0..READS).map(|n| {
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
    assert!(closed_connections(&server).await > 0);
}

/// How many connections the server closed because of their waiting replies.
async fn closed_connections(server: &NatsServer) -> u64 {
    let url = server.monitor_url();
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET /varz HTTP/1.0\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    let (_, body) = page.split_once("\r\n\r\n").unwrap();
    let varz: Value = serde_json::from_str(body).unwrap();
    varz["slow_consumer_stats"]["clients"].as_u64().unwrap()
}
