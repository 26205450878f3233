//! A TCP proxy between client and server that can hold replies of the server back, and drop one.

use std::sync::{Arc, Mutex, PoisonError};

use event_log::{Record, RecordConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::support::config;

/// The text of the reply to drop; `None`: no reply is dropped.
#[derive(Clone, Default)]
struct Drops(Arc<Mutex<Option<&'static str>>>);

impl Drops {
    fn set(&self, text: Option<&'static str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn text(&self) -> Option<&'static str> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this is the reply; only the first one is.
    fn take(&self, reply: &[u8]) -> bool {
        let contains = |text: &&str| reply.windows(text.len()).any(|part| part == text.as_bytes());
        let is_dropped = self.text().as_ref().is_some_and(contains);
        if is_dropped {
            self.set(None);
        }
        is_dropped
    }
}

/// Closes all connections when it is dropped.
pub(crate) struct Proxy {
    url: String,
    drops: Drops,
    holds: watch::Sender<bool>,
    accepted: watch::Receiver<usize>,
    task: AbortHandle,
}

impl Proxy {
    pub(crate) async fn to(url: &str) -> Self {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let drops = Drops::default();
        let of_connections = drops.clone();
        let (holds, held) = watch::channel(false);
        let (count, accepted) = watch::channel(0);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                count.send_modify(|count| *count += 1);
                let (server, drops) = (TcpStream::connect(&server).await, of_connections.clone());
                let held = held.clone();
                if let Ok(server) = server {
                    connections.spawn(relay(client, server, (drops, held)));
                }
            }
        });
        Self { url, drops, holds, accepted, task: task.abort_handle() }
    }

    /// A record of one partition through the proxy.
    pub(crate) async fn record(&self) -> Record {
        Record::open(self.config()).await.unwrap()
    }

    /// The configuration of [`Proxy::record`].
    pub(crate) fn config(&self) -> RecordConfig {
        RecordConfig { partitions: 1, ..config(&self.url) }
    }

    /// Holds the replies of the server back until [`Proxy::release`].
    pub(crate) fn hold(&self) {
        self.holds.send_replace(true);
    }

    pub(crate) fn release(&self) {
        self.holds.send_replace(false);
    }

    /// Waits until it has accepted this many connections.
    pub(crate) async fn accepted(&self, count: usize) {
        self.accepted.clone().wait_for(|accepted| *accepted >= count).await.expect("a proxy");
    }

    /// Drops the next reply of the server, and closes its connection.
    pub(crate) fn drop_reply(&self) {
        self.drop_reply_with(" ");
    }

    /// Drops the next reply that contains a text, and closes its connection.
    pub(crate) fn drop_reply_with(&self, text: &'static str) {
        self.drops.set(Some(text));
    }

    pub(crate) fn is_dropping(&self) -> bool {
        self.drops.text().is_some()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends after a dropped reply, or when either side closes.
async fn relay(client: TcpStream, server: TcpStream, (drops, mut held): (Drops, watch::Receiver<bool>)) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async { copy(&mut from_client, &mut to_server).await.map(drop) };
    let down = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 || drops.take(&buffer[..count]) {
                return Ok::<(), std::io::Error>(());
            }
            // The proxy is gone, or the replies are released.
            let _ = held.wait_for(|held| !held).await;
            to_client.write_all(&buffer[..count]).await?;
        }
    };
    tokio::select! {
        _ = up => {}
        _ = down => {}
    }
}
