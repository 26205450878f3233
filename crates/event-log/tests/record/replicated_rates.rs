//! The rate of commits on three durable replicas, in batches and alone, all servers on this machine. Run with
//! `--release -- --ignored --nocapture replicated_rates`.

use std::time::{Duration, Instant};

use async_nats::jetstream::stream::Config;
use event_log::Record;
use futures::future::join_all;

use crate::cluster::{Cluster, cluster_of};
use crate::support::{Writer, jetstream};

const PARTITIONS: u16 = 8;
/// About a commit of two events of 350 bytes.
const TEXT_BYTES: usize = 700;
const IN_FLIGHT: [usize; 4] = [32, 256, 1_024, 4_096];
const ROUND: Duration = Duration::from_secs(5);
const ROUNDS: usize = 3;

/// Commits per second.
async fn rate(record: &Record, in_flight: usize) -> f64 {
    let began = Instant::now();
    let appending = (0..in_flight).map(|_| {
        let record = record.clone();
        tokio::spawn(async move {
            let text = "x".repeat(TEXT_BYTES);
            let mut writer = Writer::of(&uuid::Uuid::now_v7().to_string());
            let mut commits = 0_u32;
            while began.elapsed() < ROUND {
                writer.append_until_known(&record, &text).await;
                commits += 1;
            }
            commits
        })
    });
    let commits: u32 = join_all(appending).await.into_iter().map(Result::unwrap).sum();
    f64::from(commits) / began.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn replicated_rates() {
    let Cluster { servers, record } = Box::pin(cluster_of(PARTITIONS)).await;
    assert!(record.accepts_batches());
    let context = jetstream(&servers[0]).await;
    for partition in 0..PARTITIONS {
        let stream = context.get_stream(format!("HANSARD_{partition}")).await;
        let without = Config { allow_atomic_publish: false, ..stream.unwrap().cached_info().config.clone() };
        context.update_stream(without).await.unwrap();
    }
    let config = || Cluster::config(&servers, PARTITIONS);
    let alone = Record::open(config()).await.unwrap();
    assert!(!alone.accepts_batches());
    for in_flight in IN_FLIGHT {
        for _ in 0..ROUNDS {
            let alone = rate(&alone, in_flight).await;
            // The streams accept batches again when a writer starts.
            let record = Record::create(config()).await.unwrap();
            assert!(record.accepts_batches());
            let batched = rate(&record, in_flight).await;
            println!(
                "{in_flight} in flight: alone {alone:.0} commits/s, in batches {batched:.0}, {:.2}",
                batched / alone
            );
        }
    }
}
