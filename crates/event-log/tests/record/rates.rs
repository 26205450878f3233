//! Rates and latencies, with the rates of NATS alone for comparison. Run with `--release -- --ignored --nocapture rates`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream;
use domain::{Partition, Sequence};
use event_log::{AppendOutcome, Record, TailBounds};
use futures::StreamExt as _;
use futures::future::join_all;

use crate::support::{Writer, config};

const IN_FLIGHT: usize = 256;
const RUN: Duration = Duration::from_secs(6);

/// The calls of `once` per second by one task for each state.
async fn rate<S, F>(states: Vec<S>, once: impl Fn(S) -> F + Clone + Send + Sync + 'static) -> f64
where
    S: Send + 'static,
    F: Future<Output = S> + Send,
{
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let tasks = states.into_iter().map(|mut state| {
        let (once, done) = (once.clone(), Arc::clone(&done));
        tokio::spawn(async move {
            while start.elapsed() < RUN {
                state = once(state).await;
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    join_all(tasks).await;
    f64::from(u32::try_from(done.load(Ordering::Relaxed)).unwrap()) / start.elapsed().as_secs_f64()
}

async fn raw(record: &Record, url: &str, tag: &str) -> f64 {
    let client = async_nats::connect(url).await.unwrap();
    let context = jetstream::new(client);
    let states = (0..IN_FLIGHT).map(|n| {
        let writer = Writer::of(&format!("raw{tag}-{n}"));
        let partition = record.layout().only_candidate(&writer.key).unwrap();
        let subject = format!("hansard.{partition}.acme.{}", writer.key.conversation);
        let message = writer.seal("x").append.message;
        (context.clone(), subject, message, 0_u64)
    });
    rate(states.collect(), |(context, subject, message, last)| async move {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", uuid::Uuid::now_v7().to_string().as_str());
        let expected = last.to_string();
        headers.insert("Nats-Expected-Last-Subject-Sequence", expected.as_str());
        let publish = context.publish_with_headers(subject.clone(), headers, message.clone());
        let last = publish.await.unwrap().await.unwrap().sequence;
        (context, subject, message, last)
    })
    .await
}

async fn appends(record: &Record, tag: &str) -> f64 {
    let states = (0..IN_FLIGHT).map(|n| {
        let writer = Writer::of(&format!("append{tag}-{n}"));
        let message = writer.seal("x").append.message;
        (record.clone(), writer, message, None)
    });
    rate(states.collect(), |(record, writer, message, expected)| async move {
        let append = event_log::Append {
            commit: domain::CommitId(uuid::Uuid::now_v7()),
            message: message.clone(),
            expected,
            hibernated_in: None,
            trace: event_log::TraceHeaders::default(),
        };
        let outcome = record.append(&writer.key, append).await.unwrap();
        let AppendOutcome::Committed { sequence } = outcome else {
            panic!("{outcome:?}");
        };
        (record, writer, message, Some(sequence))
    })
    .await
}

async fn followed(record: &Record) -> f64 {
    let start = Instant::now();
    let partitions = (0..record.partitions()).map(|partition| {
        let record = record.clone();
        tokio::spawn(async move {
            let partition = Partition(partition);
            let last = record.bounds_of(partition).await.unwrap().last;
            let mut follow = record.follow(partition, Sequence(0));
            let mut count = 0_u32;
            while let Some(message) = follow.next().await {
                let message = message.unwrap();
                count += 1;
                if message.message.position.sequence >= last {
                    break;
                }
            }
            count
        })
    });
    let counts = join_all(partitions).await;
    let count: u32 = counts.into_iter().map(Result::unwrap).sum();
    f64::from(count) / start.elapsed().as_secs_f64()
}

/// Prints the median and the 99th percentile of many calls.
async fn latency(what: &str, count: usize, mut call: impl AsyncFnMut()) {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        call().await;
        times.push(start.elapsed());
    }
    print_percentiles(what, times);
}

fn print_percentiles(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what}: p50 {p50:?}, p99 {p99:?}");
}

async fn reads(record: &Record) {
    let mut writer = Writer::of("fresh");
    let mut after = Vec::new();
    for _ in 0..40 {
        after.push(writer.append(record, "x").await);
    }
    let key = &writer.key;
    latency("last", 2_000, async || {
        drop(record.last(key).await.unwrap().unwrap());
    })
    .await;
    latency("last from leader", 2_000, async || {
        drop(record.last_from_leader(key).await.unwrap().unwrap());
    })
    .await;
    for length in [0, 1, 20] {
        let after = after[after.len() - 1 - length];
        latency(&format!("tail of {length}"), 1_000, async || {
            let tail = record.tail(key, after, TailBounds::default()).await;
            assert_eq!(tail.unwrap().commits.len(), length);
        })
        .await;
    }
}

async fn follows(record: &Record) {
    let mut writer = Writer::of("idle");
    let partition = record.partition_of(&writer.key).await.unwrap();
    let last = record.bounds_of(partition).await.unwrap().last;
    let mut follow = record.follow(partition, last);
    let mut times = Vec::new();
    for _ in 0..300 {
        let sequence = writer.append(record, "x").await;
        let start = Instant::now();
        let message = follow.next().await.unwrap().unwrap();
        assert_eq!(message.message.position.sequence, sequence);
        times.push(start.elapsed());
    }
    print_percentiles("follow after the acknowledgement", times);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures for half a minute, for people to read"]
async fn rates() {
    let server = devstack::test::nats().await;
    let record = Record::create(config(&server.url())).await.unwrap();
    for round in ["a", "b", "c"] {
        let raw = raw(&record, &server.url(), round).await;
        let appends = appends(&record, round).await;
        let ratio = appends / raw;
        println!("raw {raw:.0}/s, append {appends:.0}/s, ratio {ratio:.3}");
    }
    println!("follow of all partitions: {:.0}/s", followed(&record).await);
    reads(&record).await;
    follows(&record).await;
}
