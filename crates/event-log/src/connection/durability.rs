//! Checks whether acknowledged commits survive a power failure.
//!
//! A client sees where a stream is stored, but not when the server syncs. Only the monitoring page `/varz` of the
//! configured server shows that (checked with nats-server 2.15.1).

use std::time::Duration;

use async_nats::jetstream::stream::{Config, PersistenceMode, StorageType};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::config::RecordConfig;
use crate::error::RecordError;

/// Timeout of reading the monitoring page.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of the page in bytes.
const PAGE_BYTES_MAX: u64 = 1024 * 1024;

/// Whether acknowledged commits survive a power failure, as far as a client can see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Durability {
    /// Every stream is on disk, and the configured server syncs before it acknowledges.
    Durable,
    /// Acknowledged commits can be lost.
    NotDurable {
        /// The reason.
        why: String,
    },
    /// The streams are on disk. When the server syncs is unknown: the monitoring address is not configured or does not
    /// answer.
    Unknown,
}

/// Rejects a server that is not durable.
pub(crate) fn require(durability: &Durability) -> Result<(), RecordError> {
    match durability {
        Durability::NotDurable { why } => Err(RecordError::NotDurable { why: why.clone() }),
        Durability::Durable | Durability::Unknown => Ok(()),
    }
}

/// Why streams of these configurations lose acknowledged messages; `None`: they do not.
pub(crate) fn find_loss(streams: &[Config]) -> Option<String> {
    streams.iter().find_map(|stream| {
        let name = &stream.name;
        if stream.storage != StorageType::File {
            return Some(format!("the stream {name} is kept in memory"));
        }
        let is_async = stream.persist_mode == Some(PersistenceMode::Async);
        is_async.then(|| format!("the stream {name} acknowledges before it writes"))
    })
}

/// Reads the durability from the server's monitoring page.
pub(crate) async fn read_from_server(config: &RecordConfig) -> Durability {
    let Some(url) = &config.monitor_url else {
        return Durability::Unknown;
    };
    let page = timeout(PAGE_TIMEOUT, fetch(url)).await;
    page.ok().flatten().map_or(Durability::Unknown, |page| parse_page(&page))
}

fn parse_page(page: &[u8]) -> Durability {
    let page: Value = serde_json::from_slice(page).unwrap_or_default();
    let config = page.pointer("/jetstream/config").and_then(Value::as_object);
    let Some(config) = config else {
        return Durability::Unknown;
    };
    match config.get("sync_always").map(Value::as_bool) {
        Some(Some(true)) => Durability::Durable,
        Some(Some(false)) | None => {
            Durability::NotDurable { why: "it acknowledges before it syncs (sync_interval is not always)".to_owned() }
        }
        Some(None) => Durability::Unknown,
    }
}

async fn fetch(url: &str) -> Option<Vec<u8>> {
    let address = url.strip_prefix("http://")?.trim_end_matches('/');
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET /varz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(PAGE_BYTES_MAX).read_to_end(&mut answer).await.ok()?;
    let body = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    answer.get(body + 4..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_nats_server_2_15() {
        let check = |page: &str, durable: Option<bool>| {
            let seen = match parse_page(page.as_bytes()) {
                Durability::Durable => Some(true),
                Durability::NotDurable { .. } => Some(false),
                Durability::Unknown => None,
            };
            assert_eq!(seen, durable, "{page}");
        };
        check(r#"{"jetstream":{"config":{"sync_interval":120000000000,"sync_always":true}}}"#, Some(true));
        check(r#"{"jetstream":{"config":{"sync_interval":120000000000}}}"#, Some(false));
        check(r#"{"jetstream":{}}"#, None);
        check("{}", None);
        check("not found", None);
    }
}
