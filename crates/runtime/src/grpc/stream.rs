//! The response body of a streaming call: ends the call at its deadline or in a drain, and records its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::body::Body;
use tonic::{Code, Status};

use super::admission;
use super::deadline::deadline_passed;
use super::method::Kind;
use super::observe::{Observation, status_of};
use super::rules::Rules;
use crate::net::Exchange;

pin_project! {
    /// Forwards frames. If there is none, it may end the stream with a status.
    pub(super) struct StreamBody {
        #[pin]
        inner: Body,
        #[pin]
        drain: Option<WaitForCancellationFutureOwned>,
        #[pin]
        sleep: Option<Sleep>,
        observation: Observation,
        exchange: Option<Arc<Exchange>>,
        ended: bool,
    }
}

impl StreamBody {
    pub(super) fn new(inner: Body, observation: Observation, exchange: Option<Arc<Exchange>>, rules: &Rules) -> Self {
        let ends_when_idle = observation.method.kind == Kind::ServerStreaming;
        Self {
            inner,
            drain: ends_when_idle.then(|| rules.drain.begins()),
            sleep: observation.deadline.map(|deadline| sleep_until(deadline.at())),
            observation,
            exchange,
            ended: false,
        }
    }
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.project();
        if *this.ended {
            return Poll::Ready(None);
        }
        let polled = this.observation.span.in_scope(|| this.inner.poll_frame(cx));
        if let Poll::Ready(frame) = polled {
            if let Some(code) = end_of(frame.as_ref()) {
                this.observation.end(code);
            }
            return Poll::Ready(frame);
        }
        let interrupted = this.exchange.as_ref().map_or(Poll::Pending, |exchange| exchange.poll_interrupted(cx));
        let status = match interrupted {
            Poll::Ready(reason) => admission::interrupted(reason),
            Poll::Pending => ready!(interruption(this.drain, this.sleep, cx)),
        };
        *this.ended = true;
        if let Some(exchange) = this.exchange.take() {
            exchange.release();
        }
        this.observation.end(status.code());
        Poll::Ready(Some(trailers(&status)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.inner.is_end_stream()
    }
}

/// The status code in `frame`, if it is the last frame.
fn end_of(frame: Option<&Result<Frame<Bytes>, Status>>) -> Option<Code> {
    match frame {
        Some(Ok(frame)) => frame.trailers_ref().and_then(status_of),
        Some(Err(status)) => Some(status.code()),
        None => Some(Code::Unknown),
    }
}

fn interruption(
    drain: Pin<&mut Option<WaitForCancellationFutureOwned>>,
    sleep: Pin<&mut Option<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<Status> {
    if drain.as_pin_mut().is_some_and(|drain| drain.poll(cx).is_ready()) {
        return Poll::Ready(admission::draining());
    }
    if sleep.as_pin_mut().is_some_and(|sleep| sleep.poll(cx).is_ready()) {
        return Poll::Ready(deadline_passed());
    }
    Poll::Pending
}

fn trailers(status: &Status) -> Result<Frame<Bytes>, Status> {
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers)?;
    Ok(Frame::trailers(headers))
}
