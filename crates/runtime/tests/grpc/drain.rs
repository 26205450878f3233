//! The drain: calls in flight finish, new calls are rejected, and at the end the other connections are closed.

use runtime::grpc::Drained;
use tokio::time::{Duration, Instant, timeout};

use crate::stack::{DEADLINE, eventually, serve};

#[tokio::test]
async fn a_call_in_flight_finishes_while_new_ones_are_rejected() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    let held = client.saying("hold");
    stack.held(1).await;
    stack.shutdown.cancel();
    let mut health = stack.health.watch();
    timeout(DEADLINE, health.wait_for(|now| now.draining)).await.unwrap().unwrap();

    eventually("the port is closed", async || stack.endpoint.connect().await.is_err()).await;
    assert!(client.say("hello").await.is_err());
    assert!(!held.is_finished());
    stack.echo.gate.add_permits(1);
    assert_eq!(held.await.unwrap().unwrap(), "hold");
    assert_eq!(stack.drained().await, Drained::Clean);
}

#[tokio::test]
async fn open_calls_are_cut_at_the_end_of_the_drain() {
    for drain_ms in [0, 100] {
        let stack = serve(|c| c.drain_ms = drain_ms).await;
        let client = stack.client().await;
        let held = client.saying("hold");
        stack.held(1).await;
        let started = Instant::now();
        assert_eq!(stack.drained().await, Drained::Cut);
        let elapsed = started.elapsed();
        assert!(elapsed >= Duration::from_millis(drain_ms), "{elapsed:?}");
        assert!(timeout(DEADLINE, held).await.unwrap().unwrap().is_err());
    }
}

#[tokio::test]
async fn an_idle_connection_does_not_delay_the_drain() {
    let stack = serve(|_| {}).await;
    let client = stack.client().await;
    assert_eq!(client.say("hello").await.unwrap(), "hello");
    assert_eq!(stack.drained().await, Drained::Clean);
}
