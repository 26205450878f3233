//! Attack with open HTTP/2 connections that grant no window and answer PINGs. Other callers must not be delayed.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use http::Request;
use tests::admin;
use tests::eventually::eventually;
use tests::program;
use tests::stack::{Setup, Stack};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout};

/// Addresses of the attack, each with one connection, so that a limit per address does not help.
const CONNECTIONS: u16 = 50;

/// All streams together exceed the number of slots.
const STREAMS_PER_CONNECTION: usize = 48;

/// The slowest of a hundred legitimate requests may always take this long.
const P99_MAX: Duration = Duration::from_millis(250);

/// On a busy machine, it may take so many times as long as before the attack.
const P99_FACTOR: u32 = 5;

/// How long legitimate requests are measured before the attack.
const BASELINE: Duration = Duration::from_secs(5);

/// The pause between two legitimate requests.
const HONEST_INTERVAL: Duration = Duration::from_millis(50);

/// A lost connection is replaced after this pause.
const RECONNECT_AFTER: Duration = Duration::from_millis(100);

/// A stream that was reset or rejected is replaced after this pause: the attack uses few bytes, not many requests.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// One stream: sends a request, reads nothing, and repeats this after a reset.
async fn hold_stream(requests: SendRequest<Bytes>, authority: String, held: Arc<AtomicUsize>) {
    loop {
        let Ok(mut requests) = requests.clone().ready().await else {
            return;
        };
        let request = Request::get(format!("http://{authority}/v1/limits"));
        let Ok((response, _)) = requests.send_request(request.body(()).unwrap(), true) else {
            return;
        };
        if let Ok(mut response) = response.await {
            if response.status() == 200 {
                held.fetch_add(1, Ordering::Relaxed);
            }
            // No window is granted: only a reset by the server ends this.
            drop(response.body_mut().data().await);
        }
        sleep(ASK_AGAIN_AFTER).await;
    }
}

/// One connection from its own address; it is replaced when it is lost.
async fn hold_connection(from: Ipv4Addr, to: SocketAddr, held: Arc<AtomicUsize>) {
    loop {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        let stream = socket.connect(to).await;
        let builder = Builder::new().initial_window_size(0).clone();
        if let Ok(stream) = stream
            && let Ok((requests, connection)) = builder.handshake::<_, Bytes>(stream).await
        {
            let mut streams = JoinSet::new();
            for _ in 0..STREAMS_PER_CONNECTION {
                streams.spawn(hold_stream(requests.clone(), to.to_string(), Arc::clone(&held)));
            }
            drop(connection.await);
        }
        sleep(RECONNECT_AFTER).await;
    }
}

/// The duration of each legitimate request; `None` if it failed.
async fn legitimate_requests(stack: &Stack, lasts: Duration) -> Vec<Option<Duration>> {
    let client = stack.http_client();
    let (began, mut ticks) = (Instant::now(), interval(HONEST_INTERVAL));
    let mut times = Vec::new();
    while began.elapsed() < lasts {
        ticks.tick().await;
        for path in ["/healthz", "/v1/limits"] {
            let started = Instant::now();
            let answer = timeout(Duration::from_secs(5), client.get(path)).await;
            let (status, took) = (answer.map(|answer| answer.status).ok(), started.elapsed());
            let is_served = match status {
                Some(200) => true,
                // On a busy machine, NATS or Postgres may answer the gateway late: no slot was missing.
                Some(503) if path == "/healthz" => !is_saturated(stack).await,
                _ => false,
            };
            if !is_served {
                println!("{path} after {:?}: {status:?}", began.elapsed());
            }
            times.push(is_served.then_some(took));
        }
    }
    times
}

/// Whether all slots of a kind are in use, as the gateway reports. So it is assumed without a report.
async fn is_saturated(stack: &Stack) -> bool {
    let page = admin::get(stack.gateway.admin_addr(), "/readyz").await;
    !page.is_ok_and(|page| page.body.contains(r#""saturated":[]"#))
}

/// The duration of the slowest of a hundred requests; `None` if it failed.
fn p99(times: &[Option<Duration>]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort_by_key(|time| time.unwrap_or(Duration::MAX));
    times[times.len() * 99 / 100]
}

async fn slots_used(stack: &Stack) -> Option<u64> {
    let page = admin::get(stack.gateway.admin_addr(), "/metrics").await.ok()?;
    let name = r#"server_slots_used{server="http",slots="requests"} "#;
    let line = page.body.lines().find_map(|line| line.strip_prefix(name))?;
    line.parse().ok()
}

async fn hold_connections(lasts: Duration) {
    let mut stack = Setup::processes(program!()).prepare().await;
    // The deployed settings, except that legitimate requests come from one address, too.
    let settings = &mut stack.gateway.settings.gateway;
    settings.http.limits = http_listener::config::HttpSection::default().limits;
    stack.start().await;
    let baseline = p99(&legitimate_requests(&stack, BASELINE).await).expect("requests are answered before the attack");
    let p99_max = P99_MAX.max(baseline * P99_FACTOR);
    let to = stack.gateway.settings.gateway.http.server.addr;
    let held = Arc::new(AtomicUsize::new(0));
    let mut attackers = JoinSet::new();
    for n in 1..=CONNECTIONS {
        let [high, low] = n.to_be_bytes();
        let from = Ipv4Addr::new(127, 9, high, low);
        attackers.spawn(hold_connection(from, to, Arc::clone(&held)));
    }
    eventually("an attack in which every slot is held", || async {
        (slots_used(&stack).await? >= 2_000).then_some(())
    })
    .await;
    // A held slot becomes free for others after `preempt_after_ms`, including the first of the attack.
    let client = stack.http_client();
    eventually("a slot that has been held for so long", || async {
        (client.get("/v1/limits").await.status == 200).then_some(())
    })
    .await;
    // The gateway reports saturation until its next check.
    eventually("a server that is not saturated", || async {
        (client.get("/healthz").await.status == 200).then_some(())
    })
    .await;
    let times = legitimate_requests(&stack, lasts).await;
    let unserved = times.iter().filter(|time| time.is_none()).count();
    let p99 = p99(&times);
    let held = held.load(Ordering::Relaxed);
    println!(
        "{} legitimate requests in {lasts:?}, {unserved} unserved, p99 {p99:?}, before {baseline:?}; {held} responses held",
        times.len()
    );
    assert!(p99.is_some_and(|p99| p99 < p99_max), "p99 {p99:?} of at most {p99_max:?}, {unserved} unserved");
    eventually("readiness during the attack", || async {
        let is_ready = admin::is_ready(stack.gateway.admin_addr()).await;
        is_ready.then_some(())
    })
    .await;
    attackers.shutdown().await;
    eventually("a server whose slots are free", || async { (slots_used(&stack).await? == 0).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_connections_do_not_delay_others() {
    hold_connections(Duration::from_secs(10)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn stalled_connections_do_not_delay_others_for_a_minute() {
    hold_connections(Duration::from_mins(1)).await;
}

/// The duration of the long form in minutes; an hour by default.
const MINUTES: &str = "ADVERSARY_MINUTES";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour, or ADVERSARY_MINUTES"]
async fn stalled_connections_do_not_delay_others_for_an_hour() {
    let minutes = std::env::var(MINUTES).map_or(60, |text| text.parse().expect(MINUTES));
    hold_connections(Duration::from_mins(minutes)).await;
}
