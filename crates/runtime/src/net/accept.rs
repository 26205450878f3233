//! Accepts connections up to a limit. A connection fails when the drain ends.

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

use super::addresses::{AddressSlot, Addresses, Proxies};
use super::close_reason::{CloseReason, count_closed};
use super::config::{ConnectionConfig, TransportLimits};
use super::drain::Drain;
use super::exchange::Activity;
use super::transport::Transport;
use crate::tls::Acceptor;

/// The pause after a failed accept, for example when no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A listener, and the limits of its connections.
pub(crate) struct Listener {
    /// The protocol of the server, as a label of metrics.
    pub(crate) server: &'static str,
    pub(crate) socket: TcpListener,
    /// `None`: connections are plain.
    pub(crate) tls: Option<Acceptor>,
    /// Maximum number of open connections; further ones wait to be accepted.
    pub(crate) connections_max: usize,
    pub(crate) proxies: Proxies,
    pub(crate) config: ConnectionConfig,
    pub(crate) limits: TransportLimits,
}

/// Accepts connections, each with one of `slots`; dropping the stream closes the port.
pub(super) fn connections(listener: Listener, slots: Arc<Semaphore>, drain: Drain) -> impl Stream<Item = Connection> {
    let addresses = Addresses::new(listener.config.per_address_max, listener.proxies.clone());
    unfold((listener, slots, addresses, drain), async |(listener, slots, addresses, drain)| {
        let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
        let (stream, peer, address) = loop {
            let (stream, peer) = accept(&listener.socket).await;
            match addresses.count(peer.ip()) {
                Some(address) => break (stream, peer, address),
                None => count_closed(listener.server, CloseReason::ADDRESS_LIMIT),
            }
        };
        set_options(&stream, &listener.limits);
        let connection = Connection {
            peer,
            activity: Activity::new(),
            blocked: false,
            stream: Transport::new(stream, listener.tls.as_ref()),
            cut: Box::pin(drain.cuts()),
            _address: address,
            _slot: slot,
        };
        Some((connection, (listener, slots, addresses, drain)))
    })
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Sets options by which the system detects dead peers. The connection also works without them.
fn set_options(stream: &TcpStream, limits: &TransportLimits) {
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let interval = Duration::from_millis(limits.tcp_keepalive_ms);
    let probes = TcpKeepalive::new().with_time(interval).with_interval(interval);
    let _ = socket.set_tcp_keepalive(&probes);
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(Duration::from_millis(limits.tcp_user_timeout_ms)));
}

/// A connection that fails when the drain ends.
pub(super) struct Connection {
    stream: Transport,
    /// The address of the client.
    pub(super) peer: SocketAddr,
    pub(super) activity: Arc<Activity>,
    blocked: bool,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _address: AddressSlot,
    _slot: OwnedSemaphorePermit,
}

impl Connection {
    /// Records whether the socket accepts bytes.
    fn record_write<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        let blocked = polled.is_pending();
        if blocked != std::mem::replace(&mut self.blocked, blocked) {
            self.activity.set_blocked(blocked);
        }
        if blocked {
            return self.unless_cut(cx);
        }
        polled
    }

    /// Called only when the socket is not ready, so that it costs nothing on busy connections.
    fn unless_cut<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.cut.as_mut().poll(cx).map(|()| Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Pending => self.unless_cut(cx),
            ready @ Poll::Ready(_) => ready,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.record_write(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.record_write(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(cx);
        self.record_write(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
