//! Opens connections, with the certificates that the files hold now.

use std::fmt;
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

/// How long a caller may take to open a connection; then it is closed.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often at most it is looked whether the files have changed: a renewed certificate is shown to whoever connects so much
/// later.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

impl TlsConfig {
    /// What opens connections; `None` where they are plain. `protocols` are offered, the preferred first.
    pub(crate) fn acceptor(
        &self,
        protocols: &'static [&'static [u8]],
    ) -> Result<Option<Acceptor>, TlsError> {
        if *self == Self::OFF {
            return Ok(None);
        }
        Acceptor::new(self.clone(), protocols).map(Some)
    }
}

/// A connection that is being opened.
pub(crate) type Handshake = BoxFuture<'static, io::Result<TlsStream<TcpStream>>>;

/// When each file was changed, and its size.
type Stamp = [Option<(SystemTime, u64)>; 3];

/// Opens connections.
pub(crate) struct Acceptor {
    files: TlsConfig,
    protocols: &'static [&'static [u8]],
    current: Mutex<Current>,
}

struct Current {
    server: Arc<ServerConfig>,
    stamp: Stamp,
    looked_at: Instant,
}

impl Acceptor {
    fn new(files: TlsConfig, protocols: &'static [&'static [u8]]) -> Result<Self, TlsError> {
        // Before they are read: a change meanwhile is then seen.
        let stamp = stamp(&files);
        let server = Arc::new(files.server(protocols)?);
        let current = Mutex::new(Current {
            server,
            stamp,
            looked_at: Instant::now(),
        });
        Ok(Self {
            files,
            protocols,
            current,
        })
    }

    /// Opens a connection, within [`HANDSHAKE_TIMEOUT`].
    pub(crate) fn open(&self, stream: TcpStream) -> Handshake {
        let opening = TlsAcceptor::from(self.server()).accept(stream);
        Box::pin(async move {
            let opened = timeout(HANDSHAKE_TIMEOUT, opening).await;
            opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        })
    }

    /// What the files hold. Files that were changed and cannot be used are told of once, and what they held before stays: a
    /// certificate and its key are not replaced at the same moment.
    fn server(&self) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked_at.elapsed() >= RELOAD_INTERVAL {
            current.looked_at = Instant::now();
            let now = stamp(&self.files);
            if now != current.stamp {
                current.stamp = now;
                match self.files.server(self.protocols) {
                    Ok(server) => {
                        current.server = Arc::new(server);
                        tracing::info!("certificates read again");
                    }
                    Err(error) => tracing::warn!(%error, "certificates not read again"),
                }
            }
        }
        Arc::clone(&current.server)
    }
}

fn stamp(files: &TlsConfig) -> Stamp {
    let of = |path: &Path| {
        let metadata = metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.paths().map(|path| path.and_then(of))
}

impl fmt::Debug for Acceptor {
    /// Without the private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
