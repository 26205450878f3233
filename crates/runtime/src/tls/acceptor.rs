//! TLS handshakes of incoming connections. Changed certificate files are reloaded.

use std::fs::metadata;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use super::config::{TlsConfig, TlsError};

/// Maximum duration of a handshake. Then the connection is closed.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Minimum time between two checks of the files. A renewed certificate is used after this time.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

impl TlsConfig {
    /// The acceptor; `None` if connections are plain. `protocols`: the ALPN protocols, the preferred one first.
    pub(crate) fn acceptor(&self, protocols: &'static [&'static [u8]]) -> Result<Option<Acceptor>, TlsError> {
        if *self == Self::OFF {
            return Ok(None);
        }
        // Taken before the files are read, so that a change during the read is detected.
        let stamp = stamp(self);
        let current = Current { server: Arc::new(self.server(protocols)?), stamp, checked_at: Instant::now() };
        Ok(Some(Acceptor { files: self.clone(), protocols, current: Mutex::new(current) }))
    }
}

pub(crate) type Handshake = BoxFuture<'static, io::Result<TlsStream<TcpStream>>>;

/// Modification time and size of each file.
type Stamp = [Option<(SystemTime, u64)>; 3];

pub(crate) struct Acceptor {
    files: TlsConfig,
    protocols: &'static [&'static [u8]],
    current: Mutex<Current>,
}

struct Current {
    server: Arc<ServerConfig>,
    stamp: Stamp,
    checked_at: Instant,
}

impl Acceptor {
    /// Starts a handshake of at most [`HANDSHAKE_TIMEOUT`].
    pub(crate) fn accept(&self, stream: TcpStream) -> Handshake {
        let handshake = TlsAcceptor::from(self.server()).accept(stream);
        Box::pin(async move {
            let outcome = timeout(HANDSHAKE_TIMEOUT, handshake).await;
            outcome.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        })
    }

    /// The current certificates. If changed files cannot be used, a warning is logged once and the previous certificates
    /// remain: a certificate and its key are not replaced at the same moment.
    fn server(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.checked_at.elapsed() >= RELOAD_INTERVAL {
            current.checked_at = Instant::now();
            let now = stamp(&self.files);
            if now != current.stamp {
                current.stamp = now;
                match self.files.server(self.protocols) {
                    Ok(server) => {
                        current.server = Arc::new(server);
                        tracing::info!("TLS certificates reloaded");
                    }
                    Err(error) => tracing::warn!(%error, "TLS certificates cannot be reloaded"),
                }
            }
        }
        Arc::clone(&current.server)
    }
}

fn stamp(files: &TlsConfig) -> Stamp {
    let stamp_of = |path: &Path| {
        let metadata = metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.paths().map(|path| path.and_then(stamp_of))
}
