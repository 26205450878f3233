//! A greedy caller does not slow others down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use gateway::GatewayConfig;
use http_listener::config::HttpSection;
use serde_json::json;
use tests::http_client::HttpClient;
use tokio::task::JoinHandle;

use super::fixture::{fixture, other, say, session, set};

/// Concurrent requests of the greedy tenant: far more than its quota and the capacity of the model server.
const GREEDY: usize = 60;
/// The most answers that the greedy tenant gets during the median turn of another one. A fair gateway gives at most 8: the greedy tenant
/// runs 4 turns at once, each longer than that of the other tenant. Otherwise the turn waits for nearly all of [`GREEDY`].
const ANSWERS_BESIDE_MAX: usize = GREEDY / 2;

/// The percentile of some values.
fn percentile<T: Ord + Copy>(percent: usize, mut values: Vec<T>) -> T {
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100) - 1]
}

/// A turn of another tenant: its time, and the answers of the greedy one meanwhile.
struct Turn {
    took: Duration,
    greedy_answers: usize,
}

async fn turns(client: &HttpClient, count: usize, answered: &AtomicUsize) -> Vec<Turn> {
    let mut turns = Vec::with_capacity(count);
    for _ in 0..count {
        let (started, before) = (Instant::now(), answered.load(Ordering::Relaxed));
        let answer = say(client, "one two three four five").await;
        assert_eq!(answer.status, 200, "{:?}", answer.status_and_code());
        turns.push(Turn { took: started.elapsed(), greedy_answers: answered.load(Ordering::Relaxed) - before });
    }
    turns
}

/// Callers that send requests until the end, and count those that are answered.
struct Flood {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    callers: Vec<JoinHandle<()>>,
}

impl Flood {
    async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for caller in self.callers {
            caller.await.unwrap();
        }
    }
}

fn flood(clients: impl Iterator<Item = HttpClient>) -> Flood {
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers = clients.map(|client| {
        let (stop, answered) = (Arc::clone(&stop), Arc::clone(&answered));
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let answer = say(&client, "one two three four five six seven eight nine").await;
                assert!([200, 429, 503].contains(&answer.status), "{:?}", answer.status_and_code());
                if answer.status == 200 {
                    answered.fetch_add(1, Ordering::Relaxed);
                } else {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        })
    });
    let callers = callers.collect();
    Flood { stop, answered, callers }
}

/// The turns of a tenant alone, and beside a greedy one.
async fn measure(count: usize) -> [Vec<Turn>; 2] {
    // The deployed rates.
    let rates = |config: &mut GatewayConfig| config.http.limits = HttpSection::default().limits;
    let fixture = fixture(|_| (), rates).await;
    // Half of the capacity of the model server.
    set(&fixture, "tenant", "runs", Some(4)).await;
    let other = other(&fixture);
    let nothing = AtomicUsize::new(0);
    turns(&other, 2, &nothing).await;
    let alone = turns(&other, count, &nothing).await;
    // Each request has its own address: the limit of the tenant is tested, not that of an address.
    let greedy = (0..GREEDY).map(|n| session(&fixture, &format!("greedy-{n}"), &format!("203.0.113.{n}")));
    let flooding = flood(greedy);
    turns(&other, 2, &flooding.answered).await;
    let beside = turns(&other, count, &flooding.answered).await;
    let answered = Arc::clone(&flooding.answered);
    flooding.end().await;
    assert!(answered.load(Ordering::Relaxed) > 0, "the greedy tenant has its share");
    [alone, beside]
}

#[tokio::test(flavor = "multi_thread")]
async fn greedy_tenants_do_not_slow_others() {
    // Compares what was answered first, because a busy machine slows all turns.
    let [_, beside] = Box::pin(measure(20)).await;
    let answers: Vec<usize> = beside.iter().map(|turn| turn.greedy_answers).collect();
    let median = percentile(50, answers.clone());
    assert!(median <= ANSWERS_BESIDE_MAX, "{answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the long form: minutes, on a machine of its own"]
async fn greedy_tenants_do_not_slow_others_in_a_long_run() {
    let turns = Box::pin(measure(400)).await;
    let [alone, beside] = turns.map(|turns| percentile(99, turns.iter().map(|turn| turn.took).collect()));
    println!("alone {alone:?}, beside a greedy tenant {beside:?}");
    assert!(beside <= alone.mul_f64(1.5), "alone {alone:?}, beside {beside:?}");
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
    let sessions = (0..40).map(|n| session(&fixture, &format!("flood-{n}"), "203.0.113.7"));
    let flooding = flood(sessions);
    let legitimate = session(&fixture, "honest", "198.51.100.1");
    // The same tenant from another address: every turn is answered.
    turns(&legitimate, 10, &flooding.answered).await;
    let chat = crate::fixture::begin(&legitimate, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    assert_eq!(legitimate.post(&path, &json!({"content": "one two"})).await.status, 200);
    flooding.end().await;
}
