//! Limits of connections: idle time, age, and the number per address.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout};

use crate::raw::read_to_end;
use crate::stack::{DEADLINE, client_builder, h2_client, serve, serve_behind};
use crate::stalling::Stalling;

/// Enough for all responses of these tests.
const WINDOW: u32 = 65_535;

#[tokio::test]
async fn a_connection_without_open_requests_is_closed_although_it_answers_pings() {
    let stack = serve(|c| c.transport.idle_timeout_ms = 200).await;
    let mut client = Stalling::connect(stack.addr, WINDOW).await;
    assert_eq!(client.hold("/hello").await, 200);
    client.bodies.clear();
    client.closed().await;
}

#[tokio::test]
async fn a_connection_with_an_open_request_is_not_idle() {
    let stack = serve(|c| c.transport.idle_timeout_ms = 100).await;
    let held = tokio::spawn(h2_client().get(stack.url("/hold")).send());
    stack.held(1).await;
    // A later connection is idle, and closed.
    let mut idle = Stalling::connect(stack.addr, WINDOW).await;
    assert_eq!(idle.hold("/hello").await, 200);
    idle.bodies.clear();
    idle.closed().await;
    stack.gate.add_permits(1);
    assert_eq!(held.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn an_old_connection_finishes_open_requests_and_accepts_no_more() {
    let stack = serve(|c| c.connection.age_max_ms = 300).await;
    let mut client = Stalling::connect(stack.addr, WINDOW).await;
    let held = client.start("/hold").await;
    stack.held(1).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(client.is_open());
    stack.gate.add_permits(1);
    let answer = timeout(DEADLINE, held).await.unwrap().unwrap();
    assert_eq!(answer.status(), 200);
    drop(answer);
    client.closed().await;
}

#[tokio::test]
async fn an_old_connection_is_closed_after_its_grace_period() {
    let stack = serve(|c| {
        c.connection.age_max_ms = 200;
        c.transport.age_grace_ms = 100;
    })
    .await;
    let mut client = Stalling::connect(stack.addr, WINDOW).await;
    let held = client.start("/hold").await;
    stack.held(1).await;
    client.closed().await;
    assert!(timeout(DEADLINE, held).await.unwrap().is_err());
}

#[tokio::test]
async fn an_old_connection_of_http1_is_closed_after_its_response() {
    let stack = serve(|c| c.connection.age_max_ms = 200).await;
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    socket.write_all(b"GET /hold HTTP/1.1\r\n\r\n").await.unwrap();
    stack.held(1).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    stack.gate.add_permits(1);
    assert!(read_to_end(&mut socket).await.ends_with("held"));
}

/// A connection from a loopback address, after a response of the server; `None` if the server closes it.
async fn connect(from: &str, to: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    stream.write_all(b"GET /hello HTTP/1.1\r\n\r\n").await.ok()?;
    let mut byte = [0];
    let read = timeout(DEADLINE, stream.read(&mut byte)).await.unwrap();
    (read.ok()? > 0).then_some(stream)
}

#[tokio::test]
async fn addresses_have_a_limit_and_proxies_have_none() {
    let stack = serve_behind(&["127.0.0.9/32"], |c| {
        c.connection.per_address_max = 2;
    })
    .await;
    let mut proxied = Vec::new();
    for n in 0..10 {
        proxied.push(connect("127.0.0.9", stack.addr).await);
        assert!(proxied[n].is_some(), "the proxy: connection {n}");
    }
    for from in ["127.0.0.2", "127.0.0.3"] {
        let mut open = Vec::new();
        for n in 0..2 {
            open.push(connect(from, stack.addr).await);
            assert!(open[n].is_some(), "{from}: connection {n}");
        }
        assert!(connect(from, stack.addr).await.is_none(), "{from}: one too many");
        open.clear();
        let deadline = Instant::now() + DEADLINE;
        while connect(from, stack.addr).await.is_none() {
            assert!(Instant::now() < deadline, "{from}: none is counted down");
        }
    }
    let text = runtime::metrics::install().unwrap().render();
    let counter = r#"server_connections_closed_total{server="http",reason="address_limit"}"#;
    assert!(text.contains(counter), "{text}");
}

#[tokio::test]
async fn a_pool_of_clients_reconnects_without_an_error() {
    let stack = serve(|c| {
        c.connection.age_max_ms = 150;
        c.transport.idle_timeout_ms = 30;
    })
    .await;
    let pool = client_builder().http2_prior_knowledge().build().unwrap();
    let end = Instant::now() + Duration::from_secs(2);
    let mut pause = 0;
    while Instant::now() < end {
        assert_eq!(stack.send(pool.get(stack.url("/hello"))).await.status(), 200);
        pause = (pause + 7) % 60;
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}
