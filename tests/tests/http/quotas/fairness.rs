//! A greedy caller does not slow others down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gateway::GatewayConfig;
use gateway::http::HttpSection;
use serde_json::json;
use tests::http_client::HttpClient;

use super::fixture::{fixture, other, say, session, set};
use crate::fixture::FOREIGN_AGENT;

/// Concurrent requests of the greedy tenant: far more than its quota and the capacity of the model server.
const GREEDY: usize = 60;
/// In the short form, the additional time of a turn on a busy machine. Without fairness, a turn waits for those of the greedy
/// tenant: [`GREEDY`] turns of at least 360 ms, 8 at once, take 2.7 s.
const MARGIN: Duration = Duration::from_secs(1);

/// The percentile of the times.
fn percentile(percent: usize, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent).div_ceil(100) - 1]
}

async fn turns(client: &HttpClient, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        let answer = say(client, "one two three four five").await;
        assert_eq!(answer.status, 200, "{:?}", answer.status_and_code());
        times.push(started.elapsed());
    }
    times
}

/// Callers that send requests until the end.
fn flood(clients: impl Iterator<Item = HttpClient>, stop: &Arc<AtomicBool>) -> Vec<tokio::task::JoinHandle<usize>> {
    let flooding = clients.map(|client| {
        let stop = Arc::clone(stop);
        tokio::spawn(async move {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                let answer = say(&client, "one two three four five six seven eight nine").await;
                assert!([200, 429, 503].contains(&answer.status), "{:?}", answer.status_and_code());
                answered += usize::from(answer.status == 200);
                if answer.status != 200 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            answered
        })
    });
    flooding.collect()
}

async fn check(count: usize, percent: usize, margin: Duration) {
    // The deployed rates.
    let rates = |config: &mut GatewayConfig| config.http.limits = HttpSection::default().limits;
    let fixture = fixture(|_| (), rates).await;
    // Half of the capacity of the model server.
    set(&fixture, "tenant", "runs", Some(4)).await;
    let other = other(&fixture);
    turns(&other, 2).await;
    let alone = percentile(percent, turns(&other, count).await);
    let stop = Arc::new(AtomicBool::new(false));
    // Each request has its own address: the limit of the tenant is tested, not that of an address.
    let greedy = (0..GREEDY).map(|n| session(&fixture, &format!("greedy-{n}"), &format!("203.0.113.{n}")));
    let flooding = flood(greedy, &stop);
    turns(&other, 2).await;
    let beside = percentile(percent, turns(&other, count).await);
    stop.store(true, Ordering::Relaxed);
    let mut answered = 0;
    for flood in flooding {
        answered += flood.await.unwrap();
    }
    assert!(answered > 0, "the greedy tenant has its share");
    let most = alone.mul_f64(1.5) + margin;
    println!("{FOREIGN_AGENT}: alone {alone:?}, beside a greedy tenant {beside:?}");
    assert!(beside <= most, "alone {alone:?}, beside {beside:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn greedy_tenants_do_not_slow_others() {
    // The short form compares medians, because the machine may delay single turns.
    Box::pin(check(20, 50, MARGIN)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: minutes, on a machine of its own"]
async fn greedy_tenants_do_not_slow_others_in_a_long_run() {
    Box::pin(check(400, 99, Duration::ZERO)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_from_one_address_leaves_room_for_others() {
    let fixture = fixture(
        |quotas| quotas.address.runs = Some(4),
        |config| {
            config.generation.runs_max = 8;
            let limits = &mut config.http.limits;
            for limit in [&mut limits.key, &mut limits.session, &mut limits.address] {
                (limit.per_second, limit.burst) = (100_000, 100_000);
            }
        },
    )
    .await;
    let stop = Arc::new(AtomicBool::new(false));
    let sessions = (0..40).map(|n| session(&fixture, &format!("flood-{n}"), "203.0.113.7"));
    let flooding = flood(sessions, &stop);
    let legitimate = session(&fixture, "honest", "198.51.100.1");
    // The same tenant from another address: every turn is answered.
    turns(&legitimate, 10).await;
    let chat = crate::fixture::begin(&legitimate, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(legitimate.post(&path, &json!({"content": "one two"})).await.status, 200);
    stop.store(true, Ordering::Relaxed);
    for flood in flooding {
        flood.await.unwrap();
    }
}
