//! A client that receives nothing does not hold a stream: it ends, and can be resumed.

use std::time::Duration;

use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::within;
use tests::http_client::HttpClient;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::sleep;

use super::{recorded_to, versions, watch_chat};
use crate::fixture::{Fixture, begin};

/// More bytes than the buffers between the gateway and the client hold.
const EVENTS: u64 = 48;
const EVENT_BYTES: usize = 400_000;
/// How long the gateway waits for the client, and the pause of the client.
const PAUSE_MAX_MS: u64 = 300;
const PAUSE: Duration = Duration::from_secs(3);

/// Opens a stream of the session `s`, whose client does not read yet.
async fn open(client: &HttpClient, chat: &str, key: &str) -> TcpStream {
    let url = client.url("");
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let address = url.trim_start_matches("http://").parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request =
        format!("GET /api/chats/{chat}/events HTTP/1.1\r\nhost: h\r\nx-api-key: {key}\r\nx-session-id: s\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads to the end of the event named `end`.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = within("the end of a stream", stream.read(&mut buffer)).await.unwrap();
        assert!(read > 0, "the connection was closed before the end");
        bytes.extend_from_slice(&buffer[..read]);
        let tail = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(400)..]);
        if tail.contains("event: end") && tail.trim_end_matches(['\r', '\n', '0']).ends_with('}') {
            return tail.into_owned();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_is_told_where_to_resume() {
    let fixture = Fixture::with(|config| config.http.live.pause_max_ms = PAUSE_MAX_MS).await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let mut slow = open(&session, &chat, &fixture.key.secret).await;
    let large = "x".repeat(EVENT_BYTES);
    for _ in 0..EVENTS {
        fixture.agent.append(&chat, vec![user(&large)]).await;
    }
    // The pause of the client is the case.
    sleep(PAUSE).await;
    let tail = read_to_end(&mut slow).await;
    let data = tail.rsplit_once("data: ").unwrap().1;
    let end: Value = serde_json::Deserializer::from_str(data).into_iter().next().unwrap().unwrap();
    assert_eq!(end["code"], "CLIENT_TOO_SLOW", "{end}");
    let after = end["after"].as_u64().unwrap();
    let last = EVENTS + 1;
    assert!((1..last).contains(&after), "{after}");
    let mut resumed = watch_chat(&session, &chat, after).await;
    let rest = recorded_to(&mut resumed, last).await;
    assert_eq!(versions(&rest), (after + 1..=last).collect::<Vec<u64>>());
}
