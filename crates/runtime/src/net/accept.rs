//! Connections: accepted within a bound, and closed when the server cuts.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::transport::server::{Connected, TcpConnectInfo};

use super::drain::Drain;
use super::transport::Transport;
use crate::tls::Acceptor;

/// The pause after the system refused to accept, as it does when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections, at most `connections_max` at once; dropping the stream closes the port. TLS is spoken where there is
/// something to speak it with.
pub(crate) fn connections(
    (listener, tls): (TcpListener, Option<Acceptor>),
    connections_max: usize,
    drain: Drain,
) -> impl Stream<Item = io::Result<Connection>> {
    let places = Arc::new(Semaphore::new(connections_max));
    unfold(
        (listener, tls, places, drain),
        async |(listener, tls, places, drain)| {
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            let stream = accept(&listener).await;
            let connection = Connection {
                info: stream.connect_info(),
                stream: Transport::new(stream, tls.as_ref()),
                cut: Box::pin(drain.cuts()),
                _place: place,
            };
            Some((Ok(connection), (listener, tls, places, drain)))
        },
    )
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // A connection without it works too, only slower.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A connection that fails once the server cuts.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Transport,
    info: TcpConnectInfo,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    /// Who is at the other end; `None` where it had left before it was accepted.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.info.remote_addr()
    }

    /// Asked only when the socket has nothing to do, so that busy ones pay nothing for it.
    fn unless_cut<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        self.cut
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::ConnectionAborted.into()))
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.info.clone()
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
        match Pin::new(&mut self.stream).poll_write(cx, buf) {
            Poll::Pending => self.unless_cut(cx),
            ready @ Poll::Ready(_) => ready,
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(cx, bufs) {
            Poll::Pending => self.unless_cut(cx),
            ready @ Poll::Ready(_) => ready,
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
