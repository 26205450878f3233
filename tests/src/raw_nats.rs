//! The protocol of NATS itself, as somebody with stolen credentials would speak it.

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::eventually::within;

/// A connection of a user.
#[derive(Debug)]
pub struct RawNats(BufReader<TcpStream>);

impl RawNats {
    /// Connects as a user.
    ///
    /// # Panics
    /// When the server refuses.
    pub async fn connect(url: &str, user: &str, password: &str) -> Self {
        let address = url.strip_prefix("nats://").expect("a URL of NATS");
        let stream = TcpStream::connect(address).await.expect("a connection");
        let mut connection = Self(BufReader::new(stream));
        let hello = json!({
            "user": user, "pass": password, "verbose": false, "pedantic": false,
            "headers": true, "no_responders": true, "lang": "test", "version": "1",
        });
        connection.send(&format!("CONNECT {hello}\r\n")).await;
        assert_eq!(connection.refusals().await, Vec::<String>::new(), "{user}");
        connection
    }

    /// Publishes; what the server says against it.
    pub async fn publish(&mut self, subject: &str, reply: &str, payload: &str) -> Vec<String> {
        let bytes = payload.len();
        self.send(&format!("PUB {subject} {reply} {bytes}\r\n{payload}\r\n"))
            .await;
        self.refusals().await
    }

    /// Subscribes; what the server says against it.
    pub async fn subscribe(&mut self, subject: &str) -> Vec<String> {
        self.send(&format!("SUB {subject} 1\r\n")).await;
        self.refusals().await
    }

    /// Waits for a message of a subscription; its bytes are not looked at.
    ///
    /// # Panics
    /// When none comes in time.
    pub async fn message(&mut self) {
        let mut line = Vec::new();
        while !line.starts_with(b"MSG ") && !line.starts_with(b"HMSG ") {
            line.clear();
            let read = within("a message", self.0.read_until(b'\n', &mut line)).await;
            assert_ne!(read.expect("a line"), 0, "the server has hung up");
        }
    }

    async fn send(&mut self, text: &str) {
        let stream = self.0.get_mut();
        stream
            .write_all(text.as_bytes())
            .await
            .expect("a connection");
    }

    /// The errors until the answer to a ping, before which everything was looked at.
    async fn refusals(&mut self) -> Vec<String> {
        self.send("PING\r\n").await;
        let mut refusals = Vec::new();
        loop {
            let mut line = String::new();
            let read = within("a line of the server", self.0.read_line(&mut line)).await;
            assert_ne!(read.expect("a line"), 0, "the server has hung up");
            if line.starts_with("PONG") {
                return refusals;
            }
            if let Some(error) = line.strip_prefix("-ERR ") {
                refusals.push(error.trim().to_owned());
            }
        }
    }
}
