//! A TCP proxy between client and server that can drop a reply of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use event_log::{Record, RecordConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::support::config;

/// Closes all connections when it is dropped.
pub(crate) struct Proxy {
    url: String,
    drops_reply: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Proxy {
    pub(crate) async fn to(url: &str) -> Self {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let drops_reply = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&drops_reply);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, flag) = (TcpStream::connect(&server).await, Arc::clone(&flag));
                if let Ok(server) = server {
                    connections.spawn(relay(client, server, flag));
                }
            }
        });
        Self {
            url,
            drops_reply,
            task: task.abort_handle(),
        }
    }

    /// A record of one partition through the proxy.
    pub(crate) async fn record(&self) -> Record {
        let config = RecordConfig {
            partitions: 1,
            ..config(&self.url)
        };
        Record::open(config).await.unwrap()
    }

    /// Drops the next reply of the server, and closes its connection.
    pub(crate) fn drop_reply(&self) {
        self.drops_reply.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_dropping(&self) -> bool {
        self.drops_reply.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends after a dropped reply, or when either side closes.
async fn relay(client: TcpStream, server: TcpStream, drops_reply: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async { copy(&mut from_client, &mut to_server).await.map(drop) };
    let down = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 || drops_reply.swap(false, Ordering::SeqCst) {
                return Ok::<(), std::io::Error>(());
            }
            to_client.write_all(&buffer[..count]).await?;
        }
    };
    tokio::select! {
        _ = up => {}
        _ = down => {}
    }
}
