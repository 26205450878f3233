//! A TCP proxy between client and server, whose direction from the server can be cut without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Dropped: all connections are closed.
pub(crate) struct Proxy {
    pub(crate) url: String,
    swallows: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Proxy {
    pub(crate) async fn to(url: &str) -> Self {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let swallows = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&swallows);
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
            swallows,
            task: task.abort_handle(),
        }
    }

    /// The next thing that the server says is lost, and its connection with it.
    pub(crate) fn swallow(&self) {
        self.swallows.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_swallowing(&self) -> bool {
        self.swallows.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends when the server has said something that was swallowed, or either side has closed.
async fn relay(client: TcpStream, server: TcpStream, swallows: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async { copy(&mut from_client, &mut to_server).await.map(drop) };
    let down = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = from_server.read(&mut buffer).await?;
            if count == 0 || swallows.swap(false, Ordering::SeqCst) {
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
