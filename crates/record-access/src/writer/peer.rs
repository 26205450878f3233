//! One writer: its connections, and whether it answers.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::Uri;
use hyper_util::rt::TokioIo;
use runtime::failure_log::FailureLog;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tonic::transport::{self, Channel, Endpoint};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tower::{Service, service_fn};
use wire::proto::run::v1::run_service_server;

use super::attempts::Failure;

/// Timeout of opening a connection, with its TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time without a byte from a writer after which it is pinged.
const KEEPALIVE_INTERVAL: Duration = Duration::from_millis(500);
/// Time after which an unanswered ping closes the connection, and calls in flight fail. A writer that is only busy answers within it;
/// repeatable calls are sent to another writer long before.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a health check.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// Health checks in a row after which an address is not that of a writer. A writer that stops may break the protocol once.
const FOREIGN_ANSWERS_MIN: u64 = 3;
const HTTP_PORT: u16 = 80;
const HTTPS_PORT: u16 = 443;

/// The address of a writer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Destination {
    /// The host and the port of a URL. A name is resolved for each connection.
    Host(String, u16),
    /// One of several addresses of a name.
    Address(SocketAddr),
}

impl Destination {
    /// The host and the port of a URL.
    pub(super) fn of(uri: &Uri) -> Self {
        let default = if uri.scheme_str() == Some("https") { HTTPS_PORT } else { HTTP_PORT };
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        Self::Host(host.to_owned(), uri.port_u16().unwrap_or(default))
    }

    /// The name and the port to resolve; `None`: it is an address.
    pub(super) fn name(&self) -> Option<(&str, u16)> {
        match self {
            Self::Host(host, port) if host.parse::<IpAddr>().is_err() => Some((host, *port)),
            Self::Host(..) | Self::Address(_) => None,
        }
    }

    async fn connect(self) -> io::Result<TokioIo<TcpStream>> {
        let stream = match self {
            Self::Host(host, port) => TcpStream::connect((host, port)).await?,
            Self::Address(address) => TcpStream::connect(address).await?,
        };
        stream.set_nodelay(true)?;
        Ok(TokioIo::new(stream))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Host(host, port) => write!(f, "{host}:{port}"),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

/// Whose calls a connection carries. Each kind has a connection of its own, so that neither takes the streams of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// The gateway's own commands.
    Own,
    /// Calls of gRPC callers.
    Forwarded,
}

/// A writer.
#[derive(Debug)]
pub(super) struct Peer {
    endpoint: Endpoint,
    pub(super) destination: Destination,
    own: Channel,
    forwarded: Channel,
    is_up: AtomicBool,
    /// Health checks in a row with an answer that is not a writer's.
    foreign_answers: AtomicU64,
    log: FailureLog,
}

impl Peer {
    /// The writer at one of the addresses of an endpoint. Connects at the first call. Needs a tokio runtime.
    pub(super) fn new(endpoint: &Endpoint, destination: Destination) -> Self {
        let endpoint = endpoint
            .clone()
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        let channel = || endpoint.connect_with_connector_lazy(connector(&destination));
        let (own, forwarded) = (channel(), channel());
        Self {
            endpoint,
            own,
            forwarded,
            is_up: AtomicBool::new(true),
            foreign_answers: AtomicU64::new(0),
            log: FailureLog::default(),
            destination,
        }
    }

    /// The shared connection for unary calls.
    pub(super) fn channel(&self, traffic: Traffic) -> Channel {
        match traffic {
            Traffic::Own => self.own.clone(),
            Traffic::Forwarded => self.forwarded.clone(),
        }
    }

    /// Opens a connection for one stream.
    pub(super) async fn connect(&self) -> Result<Channel, transport::Error> {
        self.endpoint.connect_with_connector(connector(&self.destination)).await
    }

    /// Whether it answers, as far as is known.
    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// It answered.
    pub(super) fn mark_up(&self) {
        if !self.is_up() {
            self.is_up.store(true, Ordering::Relaxed);
        }
    }

    /// A call failed, or has no answer yet: others are preferred until the next health check succeeds.
    pub(super) fn mark_down(&self) {
        if self.is_up.swap(false, Ordering::Relaxed)
            && let Some(unlogged) = self.log.failed(Instant::now())
        {
            let address = self.destination.to_string();
            tracing::warn!(writer.address = address, unlogged, "a writer does not answer");
        }
    }

    /// Checks its health. A writer that drains, or has no record, is down.
    pub(super) async fn probe(&self) {
        let mut health = HealthClient::new(self.own.clone());
        let request = HealthCheckRequest { service: run_service_server::SERVICE_NAME.to_owned() };
        let answer = timeout(PROBE_TIMEOUT, health.check(request)).await;
        self.count_foreign(matches!(&answer, Ok(Err(status)) if is_foreign(status)));
        if matches!(answer, Ok(Ok(answer)) if answer.get_ref().status() == ServingStatus::Serving) {
            self.mark_up();
        } else {
            self.mark_down();
        }
    }

    /// Whether another server than a writer answers there.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign_answers.load(Ordering::Relaxed) >= FOREIGN_ANSWERS_MIN
    }

    fn count_foreign(&self, is_foreign: bool) {
        if !is_foreign {
            self.foreign_answers.store(0, Ordering::Relaxed);
        } else if self.foreign_answers.fetch_add(1, Ordering::Relaxed) + 1 == FOREIGN_ANSWERS_MIN {
            let address = self.destination.to_string();
            tracing::warn!(writer.address = address, "another server than a writer answers: check `writer_url`");
        }
    }
}

/// Whether the answer to a health check is not that of a writer: the port of another protocol, or of another gRPC server.
fn is_foreign(status: &Status) -> bool {
    matches!(status.code(), Code::Internal | Code::NotFound | Code::Unimplemented)
}

fn connector(
    destination: &Destination,
) -> impl Service<Uri, Response = TokioIo<TcpStream>, Error = io::Error, Future: Send> + Send + 'static {
    let destination = destination.clone();
    service_fn(move |_: Uri| destination.clone().connect())
}

/// How a call without an answer failed. An I/O error outside of the HTTP/2 connection is a timeout of the connector.
pub(super) fn failure_of(error: &(dyn Error + 'static)) -> Failure {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<hyper::Error>() {
            return Failure::Lost;
        }
        if error.is::<tonic::ConnectError>() || error.is::<io::Error>() {
            return Failure::NotSent;
        }
        next = error.source();
    }
    Failure::Lost
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink};
    use tokio::net::TcpListener;
    use tonic::body::Body;
    use tonic::transport::ClientTlsConfig;
    use tower::ServiceExt as _;

    use super::*;

    #[test]
    fn addresses_are_not_resolved() {
        for (uri, expected, name) in [
            ("http://writer:7301/", "writer:7301", Some(("writer", 7301))),
            ("http://u:hunter2@writer", "writer:80", Some(("writer", 80))),
            ("https://writer", "writer:443", Some(("writer", 443))),
            ("http://127.0.0.1:1", "127.0.0.1:1", None),
            ("http://[::1]:7301", "[::1]:7301", None),
        ] {
            let destination = Destination::of(&uri.parse().unwrap());
            assert_eq!((destination.to_string().as_str(), destination.name()), (expected, name));
        }
    }

    #[tokio::test]
    async fn a_call_without_a_connection_is_not_sent() {
        // A server that accepts connections, and answers no TLS handshake.
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = Endpoint::from_shared(format!("https://{}", silent.local_addr().unwrap())).unwrap();
        let silent = silent.tls_config(ClientTlsConfig::new()).unwrap();
        for endpoint in [Endpoint::from_static("http://127.0.0.1:1"), silent] {
            let peer = Peer::new(&endpoint, Destination::of(endpoint.uri()));
            let error = peer.channel(Traffic::Own).oneshot(Request::new(Body::empty())).await.unwrap_err();
            assert_eq!(failure_of(&error), Failure::NotSent, "{error:?}");
        }
    }

    /// A server that answers the first bytes of each connection with these.
    async fn server_of(bytes: &'static [u8]) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                connection.read_u8().await.unwrap();
                connection.write_all(bytes).await.unwrap();
                if !bytes.is_empty() {
                    copy(&mut connection, &mut sink()).await.unwrap();
                }
            }
        });
        Peer::new(&endpoint, Destination::of(endpoint.uri()))
    }

    #[tokio::test]
    async fn other_protocols_are_not_writers() {
        let check = async |bytes: &'static [u8], expected: bool| {
            let peer = server_of(bytes).await;
            for probe in 1..=FOREIGN_ANSWERS_MIN {
                peer.probe().await;
                let expected = expected && probe == FOREIGN_ANSWERS_MIN;
                assert_eq!((peer.is_up(), peer.is_foreign()), (false, expected), "{bytes:?}");
            }
        };
        check(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", true).await;
        check(b"INFO {}\r\n", true).await;
        // A writer that is killed.
        check(b"", false).await;
    }
}
