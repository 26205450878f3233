//! Clients that vanish without a FIN or an RST: their machine receives and sends no packets.

use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockFilter, SockRef};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::stack::{NEVER_MS, Stack, serve};

/// The minimum of the settings. A dead connection is detected by the second probe, or when sent bytes are not acknowledged
/// for this time.
const SECOND_MS: u64 = 1_000;

/// Both timers together, with a margin for busy machines. The timers of the system take far longer.
const FREED_WITHIN: Duration = Duration::from_secs(30);

/// One connection at a time; its other timeouts are not reached.
async fn serve_one() -> Stack {
    serve(|c| {
        c.connections_max = 1;
        c.header_timeout_ms = NEVER_MS;
        c.transport.write_timeout_ms = NEVER_MS;
        c.transport.idle_timeout_ms = NEVER_MS;
        c.transport.tcp_keepalive_ms = SECOND_MS;
        c.transport.tcp_user_timeout_ms = SECOND_MS;
    })
    .await
}

async fn ask(to: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Whether the server answers a new connection within `within`.
async fn is_served(to: SocketAddr, within: Duration) -> bool {
    let mut stream = ask(to, "/hello").await;
    let read = timeout(within, stream.read(&mut [0])).await;
    read.is_ok_and(|read| read.is_ok_and(|bytes| bytes > 0))
}

/// Drops all packets to the socket: its system does not acknowledge, answer probes or reset.
fn vanish(stream: &TcpStream) {
    let drop_all = SockFilter::new(0x06, 0, 0, 0);
    SockRef::from(stream).attach_filter(&[drop_all]).unwrap();
}

async fn check(path: &str) {
    let stack = serve_one().await;
    let mut stream = ask(stack.addr, path).await;
    match path {
        "/hold" => stack.held(1).await,
        _ => drop(stream.read(&mut [0]).await.unwrap()),
    }
    vanish(&stream);
    let started = Instant::now();
    assert!(is_served(stack.addr, FREED_WITHIN).await, "{path}");
    let held = started.elapsed();
    assert!(held >= Duration::from_millis(SECOND_MS), "{path}: {held:?}");
}

/// An idle connection, one with a running request, and one with an unfinished response.
#[tokio::test]
async fn a_vanished_peer_loses_its_connection() {
    tokio::join!(check("/hello"), check("/hold"), check("/flood"));
}

#[tokio::test]
async fn a_silent_peer_that_is_alive_keeps_its_connection() {
    let stack = serve_one().await;
    let mut stream = ask(stack.addr, "/hello").await;
    assert!(stream.read(&mut [0]).await.unwrap() > 0);
    assert!(!is_served(stack.addr, Duration::from_millis(3 * SECOND_MS)).await);
}
