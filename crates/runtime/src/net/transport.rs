//! The bytes of a connection: plain or TLS. The first read or write runs the TLS handshake.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::tls::{Acceptor, Handshake};

pub(super) enum Transport {
    Plain(TcpStream),
    Handshake(Handshake),
    Tls(Box<TlsStream<TcpStream>>),
    Closed,
}

impl Transport {
    /// Returns at once, so that a handshake does not delay other connections.
    pub(super) fn new(stream: TcpStream, tls: Option<&Acceptor>) -> Self {
        match tls {
            None => Self::Plain(stream),
            Some(tls) => Self::Handshake(tls.accept(stream)),
        }
    }

    /// The stream, when the handshake is done.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut dyn Stream>>> {
        if let Self::Handshake(handshake) = self {
            match ready!(handshake.as_mut().poll(cx)) {
                Ok(stream) => *self = Self::Tls(Box::new(stream)),
                Err(error) => {
                    *self = Self::Closed;
                    tracing::debug!(%error, "TLS handshake failed");
                    return Poll::Ready(Err(error));
                }
            }
        }
        Poll::Ready(match self {
            Self::Plain(stream) => Ok(Pin::new(stream)),
            Self::Tls(stream) => Ok(Pin::new(stream.as_mut())),
            Self::Handshake(_) | Self::Closed => Err(io::ErrorKind::NotConnected.into()),
        })
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl AsyncRead for Transport {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_read(cx, buf)
    }
}

impl AsyncWrite for Transport {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
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
            Self::Handshake(_) | Self::Closed => {
                *self = Self::Closed;
                Poll::Ready(Ok(()))
            }
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
