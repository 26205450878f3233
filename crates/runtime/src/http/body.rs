//! The body of an answer: bounded in time unless it streams, observed to its end, and never the end of its connection's task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::observe::Observation;

/// The end of an answer that cannot be an answer any more.
#[derive(Debug, thiserror::Error)]
enum BrokenOff {
    #[error("the answer took longer than the request may")]
    TimedOut,
    #[error("the answer's body panicked")]
    Panicked,
}

pin_project! {
    /// Passes frames on.
    pub(super) struct AnswerBody {
        #[pin]
        inner: Body,
        #[pin]
        timeout: Option<Sleep>,
        observation: Observation,
    }
}

impl AnswerBody {
    /// `timeout`: when the answer must be sent; `None` for a stream.
    pub(super) fn new(inner: Body, timeout: Option<Sleep>, observation: Observation) -> Self {
        Self {
            inner,
            timeout,
            observation,
        }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        let Ok(polled) = catch_unwind(AssertUnwindSafe(|| this.inner.poll_frame(cx))) else {
            tracing::error!("answer's body panicked");
            return Poll::Ready(Some(Err(BrokenOff::Panicked.into())));
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            this.observation
                .sent(frame.data_ref().map_or(0, Bytes::len));
        }
        let late = |sleep: Pin<&mut Sleep>| polled.is_pending() && sleep.poll(cx).is_ready();
        if this.timeout.as_pin_mut().is_some_and(late) {
            return Poll::Ready(Some(Err(BrokenOff::TimedOut.into())));
        }
        polled.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
