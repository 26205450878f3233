//! Contexts by a gateway with a replica, beside those of a gateway without one; and what the end of the replica costs.

use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;
use wire::proto::read::v1 as proto;

use crate::client::{Client, context_request, target};
use crate::replicas::Replicated;
use crate::stack::run;

const CONVERSATIONS: usize = 20;
const MESSAGES: usize = 20;
const ROUNDS: usize = 1_000;
const READERS: usize = 8;
/// The time in which the readers read before and after the replica ends.
const READING: Duration = Duration::from_secs(3);
const LAG_MS_MAX: u64 = 1_000;

#[test]
#[ignore = "measures"]
fn replica_latency() {
    run(async {
        let mut replicated = Box::pin(Replicated::start(LAG_MS_MAX)).await;
        let mut requests = Vec::new();
        for _ in 0..CONVERSATIONS {
            let author = replicated.conversation(MESSAGES).await;
            requests.push(context_request(target(&author), 20));
        }
        let (alone, with) = (replicated.stack.client.clone(), replicated.client.clone());
        let (mut from_primary, mut from_replica) = (Vec::new(), Vec::new());
        for request in requests.iter().cycle().take(ROUNDS) {
            from_primary.push(timed(&alone, request).await);
            from_replica.push(timed(&with, request).await);
        }
        print("one reader, primary", from_primary);
        print("one reader, replica", from_replica);
        print("8 readers, primary", load(&alone, &requests).await);
        print("8 readers, replica", load(&with, &requests).await);
        for name in ["killed", "frozen"] {
            let reading = tokio::spawn({
                let (client, requests) = (with.clone(), requests.clone());
                async move { load(&client, &requests).await }
            });
            match name {
                "killed" => replicated.standby.kill(),
                _ => replicated.standby.pause(),
            }
            let took = reading.await.unwrap();
            print(&format!("8 readers, replica {name}"), took);
            replicated.standby.resume();
            if replicated.standby.pid().is_none() {
                replicated.standby.restart().await.unwrap();
            }
            replicated.conversation(1).await;
        }
    });
}

async fn timed(client: &Client, request: &proto::AssembleContextRequest) -> Duration {
    let start = Instant::now();
    client.context(request.clone()).await.unwrap();
    start.elapsed()
}

/// The times of the reads of some readers.
async fn load(client: &Client, requests: &[proto::AssembleContextRequest]) -> Vec<Duration> {
    let end = Instant::now() + READING;
    let readers = (0..READERS).map(|reader| async move {
        let mut took = Vec::new();
        for request in requests.iter().cycle().skip(reader) {
            if Instant::now() >= end {
                break;
            }
            took.push(timed(client, request).await);
        }
        took
    });
    join_all(readers).await.concat()
}

#[expect(clippy::print_stdout, reason = "the figures of a measurement")]
fn print(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    let at = |share: usize| took[(took.len() - 1) * share / 1_000];
    let (p50, p99, slowest) = (at(500), at(990), at(1_000));
    let count = took.len();
    println!("{what}: {count} contexts, p50 {p50:?}, p99 {p99:?}, slowest {slowest:?}");
}
