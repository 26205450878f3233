//! What the lookup of a conversation's partition costs. Run with `--release -- --ignored --nocapture lookups`.

use std::time::{Duration, Instant};

use domain::Stage;
use event_log::{Record, RecordConfig};

use crate::support::{Writer, config, jetstream};

const CONVERSATIONS: usize = 2_000;

/// The median and the 99th percentile of the reads of all conversations, one after the other.
async fn measure(what: &str, record: &Record, writers: &[Writer]) {
    let mut times = Vec::with_capacity(writers.len());
    for writer in writers {
        let began = Instant::now();
        assert!(record.last(&writer.key).await.unwrap().is_some());
        times.push(began.elapsed());
    }
    report(what, times);
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: usize| times[times.len() * part / 100].as_micros();
    println!("{what}: p50 {} us, p99 {} us", at(50), at(99));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn lookups() {
    let server = devstack::test::nats().await;
    let opened = || RecordConfig { partitions: 8, ..config(&server.url()) };
    let record = Record::create(opened()).await.unwrap();
    let mut writers: Vec<_> = (0..CONVERSATIONS).map(|n| Writer::of(&format!("c{n}"))).collect();
    for writer in &mut writers {
        writer.append(&record, "x").await;
    }
    for _ in 0..3 {
        measure("8 partitions", &record, &writers).await;
    }
    record.announce_partitions(24, &[]).await.unwrap();
    while record.layout().stage() != Stage::Open {
        record.advance_layout().await.unwrap();
    }
    let layout = record.layout();
    writers.retain(|writer| layout.candidates(&writer.key).len() == 2);
    for _ in 0..3 {
        let fresh = Record::open(opened()).await.unwrap();
        measure("8, then 24, first read", &fresh, &writers).await;
        measure("8, then 24, later reads", &fresh, &writers).await;
        // A directory: one request for the partition, then one for the commit.
        let context = jetstream(&server).await;
        let stream = context.get_stream_no_info("HANSARD_0").await.unwrap();
        let mut times = Vec::new();
        for writer in &writers {
            let began = Instant::now();
            drop(stream.direct_get(1).await);
            record.last(&writer.key).await.unwrap();
            times.push(began.elapsed());
        }
        report("8, then 24, with a directory", times);
    }
}
