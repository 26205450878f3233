//! The bodies of an exchange. They report response pieces until they are written, and the progress of the request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};

use super::exchange::{Exchange, Interruption};
use super::messages::Messages;

/// Maximum size of a response piece that the transport gets at once. It is the unit of a client's progress.
const PIECE_BYTES_MAX: usize = 64 * 1024;

pin_project! {
    /// The body of a response, in pieces that are counted until they are written.
    pub(crate) struct SentBody<B> {
        #[pin]
        inner: B,
        rest: Bytes,
        exchange: Arc<Exchange>,
    }
}

impl<B> SentBody<B> {
    pub(super) fn new(inner: B, exchange: Arc<Exchange>) -> Self {
        Self { inner, rest: Bytes::new(), exchange }
    }
}

impl<B: Body<Data = Bytes>> Body for SentBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        if this.rest.is_empty() {
            match this.inner.poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => *this.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                ended @ (Poll::Ready(_) | Poll::Pending) => return ended,
            }
        }
        let bytes = this.rest.split_to(this.rest.len().min(PIECE_BYTES_MAX));
        Poll::Ready(Some(Ok(Frame::data(Piece::queue(bytes, this.exchange)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

/// Bytes that the transport drops when they are written or discarded.
struct Piece {
    bytes: Bytes,
    exchange: Arc<Exchange>,
}

impl Piece {
    fn queue(bytes: Bytes, exchange: &Arc<Exchange>) -> Bytes {
        if bytes.is_empty() {
            return bytes;
        }
        exchange.piece_queued();
        let exchange = Arc::clone(exchange);
        Bytes::from_owner(Self { bytes, exchange })
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.exchange.piece_written();
    }
}

/// The minimum progress of a request body: `bytes_min` in each `timeout` in which the server waits for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyProgress {
    timeout: Duration,
    bytes_min: usize,
}

impl BodyProgress {
    pub(crate) const fn new(timeout_ms: u64, bytes_min: usize) -> Self {
        Self { timeout: Duration::from_millis(timeout_ms), bytes_min }
    }
}

pin_project! {
    /// The body of a request. It interrupts its exchange if it makes no progress.
    pub(crate) struct ReceivedBody {
        #[pin]
        inner: Incoming,
        #[pin]
        sleep: Option<Sleep>,
        // Since the last progress.
        received: usize,
        received_in_all: usize,
        waiting: bool,
        progress: BodyProgress,
        // `Some`: the body may pause between two messages.
        messages: Option<Messages>,
        exchange: Arc<Exchange>,
    }
}

impl ReceivedBody {
    pub(super) fn new(inner: Incoming, progress: BodyProgress, exchange: Arc<Exchange>) -> Self {
        Self { inner, sleep: None, received: 0, received_in_all: 0, waiting: false, progress, messages: None, exchange }
    }

    /// The body as gRPC messages, with pauses of any length between two messages.
    pub(crate) fn with_pauses(self) -> Self {
        Self { messages: Some(Messages::default()), ..self }
    }
}

impl Body for ReceivedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut this = self.project();
        let polled = this.inner.poll_frame(cx);
        let rule = *this.progress;
        if let Poll::Ready(frame) = polled {
            *this.waiting = false;
            this.exchange.body_received();
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            let bytes = data.map_or(0, Bytes::len);
            *this.received += bytes;
            *this.received_in_all = this.received_in_all.saturating_add(bytes);
            // The messages of a stream are read one by one.
            if this.messages.is_none() && !this.exchange.hold_memory(*this.received_in_all) {
                this.exchange.interrupt(Interruption::OutOfMemory);
                return Poll::Pending;
            }
            if let (Some(messages), Some(data)) = (this.messages, data) {
                messages.receive(data);
            }
            if *this.received >= rule.bytes_min {
                *this.received = 0;
                this.sleep.set(None);
            }
            return Poll::Ready(frame);
        }
        if this.messages.as_ref().is_some_and(Messages::is_between) {
            *this.received = 0;
            this.sleep.set(None);
            return Poll::Pending;
        }
        if this.sleep.is_none() {
            this.sleep.set(Some(sleep_until(Instant::now() + rule.timeout)));
        }
        if !std::mem::replace(this.waiting, true) {
            this.exchange.wait_for_body();
        }
        let late = this.sleep.as_pin_mut();
        if late.is_some_and(|sleep| sleep.poll(cx).is_ready()) {
            this.exchange.interrupt(Interruption::BodyStalled);
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
