//! The drain: calls in flight finish, new ones are refused, and at the end the rest is cut.

use runtime::grpc::Drained;
use tokio::time::{Duration, Instant, timeout};

use crate::stack::{DEADLINE, serve};

#[tokio::test]
async fn a_call_in_flight_finishes_while_new_ones_are_refused() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let held = client.saying("hold");
    stack.held(1).await;
    stack.shutdown.cancel();
    let mut health = stack.health.watch();
    timeout(DEADLINE, health.wait_for(|now| now.draining))
        .await
        .unwrap()
        .unwrap();

    let deadline = Instant::now() + DEADLINE;
    while stack.endpoint.connect().await.is_ok() {
        assert!(Instant::now() < deadline, "the port is never closed");
        tokio::task::yield_now().await;
    }
    assert!(client.say("hello").await.is_err());
    assert!(!held.is_finished());
    stack.echo.gate.add_permits(1);
    assert_eq!(held.await.unwrap().unwrap(), "hold");
    assert_eq!(stack.drained().await, Drained::Clean);
}

#[tokio::test]
async fn what_is_left_at_the_end_of_the_drain_is_cut() {
    let stack = serve(|c| c.drain_ms = 100).await;
    let client = stack.client().await;
    let held = client.saying("hold");
    stack.held(1).await;
    let started = Instant::now();
    assert_eq!(stack.drained().await, Drained::Cut);
    let elapsed = started.elapsed();
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    assert!(timeout(DEADLINE, held).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn a_drain_of_zero_cuts_at_once() {
    let stack = serve(|c| c.drain_ms = 0).await;
    let client = stack.client().await;
    let held = client.saying("hold");
    stack.held(1).await;
    assert_eq!(stack.drained().await, Drained::Cut);
    assert!(timeout(DEADLINE, held).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_the_drain() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    let started = Instant::now();
    assert_eq!(stack.drained().await, Drained::Clean);
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}
