//! Connections: accepted within a bound, and closed when the server cuts.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::addresses::{Addresses, Counted, Proxies};
use super::close_reason::{CloseReason, closed};
use super::config::ConnectionConfig;
use super::drain::Drain;
use super::exchange::Activity;
use super::transport::Transport;
use crate::tls::Acceptor;

/// The pause after the system refused to accept, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A port, and what its connections are bounded by.
#[derive(Debug)]
pub(crate) struct Listening {
    /// The protocol of the server, as a label of metrics.
    pub(crate) server: &'static str,
    pub(crate) listener: TcpListener,
    /// Speaks TLS; `None`: connections are plain.
    pub(crate) tls: Option<Acceptor>,
    /// The most connections at once; more wait to be accepted.
    pub(crate) connections_max: usize,
    pub(crate) proxies: Proxies,
    pub(crate) config: ConnectionConfig,
}

/// Accepts connections, each with one of `slots`; dropping the stream closes the port.
pub(super) fn accepted(
    listening: Listening,
    slots: Arc<Semaphore>,
    drain: Drain,
) -> impl Stream<Item = Connection> {
    let per_address_max = listening.config.per_address_max;
    let addresses = Addresses::new(per_address_max, listening.proxies.clone());
    unfold(
        (listening, slots, addresses, drain),
        async |(listening, slots, addresses, drain)| {
            let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
            let (stream, peer, counted) = loop {
                let (stream, peer) = accept(&listening.listener).await;
                match addresses.count(peer.ip()) {
                    Some(counted) => break (stream, peer, counted),
                    None => closed(listening.server, CloseReason::AddressLimit),
                }
            };
            bound(&stream, &listening.config);
            let connection = Connection {
                peer,
                activity: Activity::new(),
                blocked: false,
                stream: Transport::new(stream, listening.tls.as_ref()),
                cut: Box::pin(drain.cuts()),
                _counted: counted,
                _slot: slot,
            };
            Some((connection, (listening, slots, addresses, drain)))
        },
    )
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Has the system find connections whose other end is gone. A connection without these options works too.
fn bound(stream: &TcpStream, config: &ConnectionConfig) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let silence = Duration::from_millis(config.tcp_keepalive_ms);
    let probes = TcpKeepalive::new()
        .with_time(silence)
        .with_interval(silence);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_millis(config.tcp_user_timeout_ms)));
}

/// A connection that fails once the server cuts.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Transport,
    peer: SocketAddr,
    activity: Arc<Activity>,
    blocked: bool,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _counted: Counted,
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    /// Who is at the other end.
    pub(super) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// What happens on it.
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.activity)
    }

    /// Notes whether the socket takes bytes.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let blocked = polled.is_pending();
        if blocked != std::mem::replace(&mut self.blocked, blocked) {
            self.activity.blocked(blocked);
        }
        if blocked {
            return self.unless_cut(cx);
        }
        polled
    }

    /// Asked only when the socket has nothing to do, so that busy ones pay nothing for it.
    fn unless_cut<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.cut
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Pending => self.unless_cut(cx),
            ready @ Poll::Ready(_) => ready,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.written(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
