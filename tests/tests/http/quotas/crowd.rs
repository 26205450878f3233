//! A greedy caller beside others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gateway::GatewayConfig;
use gateway::http::HttpSection;
use serde_json::json;
use tests::door::Door;

use super::ground::{ground, other, say, session, set};
use crate::ground::FOREIGN_AGENT;

/// How often the greedy tenant asks at once: far more than its quota and than the model server takes.
const GREEDY: usize = 60;
/// In the short form, the time that a busy machine adds to a turn.
const MARGIN: Duration = Duration::from_millis(200);

/// The time that so many percent of the turns do not exceed.
fn percentile(percent: usize, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent).div_ceil(100) - 1]
}

async fn turns(door: &Door, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        let said = say(door, "one two three four five").await;
        assert_eq!(said.status, 200, "{:?}", said.told());
        times.push(started.elapsed());
    }
    times
}

/// Callers that ask until they are told to stop.
fn flood(
    doors: impl Iterator<Item = Door>,
    stop: &Arc<AtomicBool>,
) -> Vec<tokio::task::JoinHandle<usize>> {
    let flooding = doors.map(|door| {
        let stop = Arc::clone(stop);
        tokio::spawn(async move {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                let said = say(&door, "one two three four five six seven eight nine").await;
                assert!([200, 429, 503].contains(&said.status), "{:?}", said.told());
                answered += usize::from(said.status == 200);
                if said.status != 200 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            answered
        })
    });
    flooding.collect()
}

async fn check(count: usize, percent: usize, margin: Duration) {
    // The rates that are deployed.
    let rates = |config: &mut GatewayConfig| config.http.limits = HttpSection::default().limits;
    let ground = ground(|_| (), rates).await;
    // Half of what the model server takes at once.
    set(&ground, "tenant", "runs", Some(4)).await;
    let other = other(&ground);
    turns(&other, 2).await;
    let alone = percentile(percent, turns(&other, count).await);
    let stop = Arc::new(AtomicBool::new(false));
    // Each at an address of its own: the tenant is greedy, not an address.
    let greedy =
        (0..GREEDY).map(|n| session(&ground, &format!("greedy-{n}"), &format!("203.0.113.{n}")));
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
async fn a_greedy_tenant_does_not_slow_another_down() {
    // One turn that the machine delays must not decide, so the short form compares medians.
    check(20, 50, MARGIN).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: minutes, on a machine of its own"]
async fn a_greedy_tenant_does_not_slow_another_down_for_long() {
    check(400, 99, Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_from_one_address_leaves_room_for_others() {
    let ground = ground(
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
    let sessions = (0..40).map(|n| session(&ground, &format!("flood-{n}"), "203.0.113.7"));
    let flooding = flood(sessions, &stop);
    let honest = session(&ground, "honest", "198.51.100.1");
    // The same tenant, another address: every turn is answered.
    turns(&honest, 10).await;
    let chat = crate::ground::begin(&honest, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(
        honest
            .post(&path, &json!({"content": "one two"}))
            .await
            .status,
        200
    );
    stop.store(true, Ordering::Relaxed);
    for flood in flooding {
        flood.await.unwrap();
    }
}
