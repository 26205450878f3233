//! The bytes of a connection: plain, or through TLS, which is spoken by whoever reads or writes first.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::tls::{Acceptor, Handshake};

/// A connection's bytes.
pub(super) enum Transport {
    Plain(TcpStream),
    Opening(Handshake),
    Tls(Box<TlsStream<TcpStream>>),
    /// It could not be opened.
    Closed,
}

impl Transport {
    /// Returns at once: the accepting of others waits for nobody's handshake.
    pub(super) fn new(stream: TcpStream, tls: Option<&Acceptor>) -> Self {
        match tls {
            None => Self::Plain(stream),
            Some(tls) => Self::Opening(tls.open(stream)),
        }
    }

    /// The stream, once it is open.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut dyn Stream>>> {
        if let Self::Opening(handshake) = self {
            match ready!(handshake.as_mut().poll(cx)) {
                Ok(stream) => *self = Self::Tls(Box::new(stream)),
                Err(error) => {
                    *self = Self::Closed;
                    tracing::debug!(%error, "connection not opened");
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match self {
            Self::Plain(stream) => Ok(Pin::new(stream)),
            Self::Tls(stream) => Ok(Pin::new(stream.as_mut())),
            Self::Opening(_) | Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_read(cx, buf)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Opening(_) | Self::Closed => {
                *self = Self::Closed;
                Poll::Ready(Ok(()))
            }
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Opening(_) => "Opening",
            Self::Tls(_) => "Tls",
            Self::Closed => "Closed",
        })
    }
}
