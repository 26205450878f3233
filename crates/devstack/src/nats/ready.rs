//! The readiness of a nats-server: it has written its ports file, and its health page returns 200.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const HEALTH_LIMIT: Duration = Duration::from_secs(1);
const HEALTH_MAX_BYTES: u64 = 4096;

/// The ports of a server on the loopback interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) client: u16,
    pub(super) monitor: u16,
}

#[derive(Deserialize)]
struct PortsFile {
    nats: Vec<String>,
    monitoring: Vec<String>,
}

/// Whether the server listens on all its ports. It writes them into `folder` when it does.
pub(super) fn listens(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| {
        fs::read_to_string(entry.path())
            .ok()
            .and_then(|text| serde_json::from_str::<PortsFile>(&text).ok())
            .is_some_and(|file| !file.nats.is_empty() && !file.monitoring.is_empty())
    })
}

/// Whether the health page returns 200: `JetStream` has recovered its streams.
pub(super) async fn is_healthy(monitor: u16) -> bool {
    let page = timeout(HEALTH_LIMIT, get_health(monitor)).await;
    matches!(page, Ok(Ok(text)) if text.starts_with("HTTP/1.0 200"))
}

async fn get_health(monitor: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, monitor)).await?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").await?;
    let mut page = String::new();
    stream.take(HEALTH_MAX_BYTES).read_to_string(&mut page).await?;
    Ok(page)
}
