//! The body of a response: it has a timeout unless it is a stream, telemetry until its end, and its panics are caught.

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

/// Ends a response whose headers are already sent.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error("the response took longer than the request timeout")]
    TimedOut,
    #[error("the body of the response panicked")]
    Panicked,
}

pin_project! {
    /// Forwards frames.
    pub(super) struct ResponseBody {
        #[pin]
        pub(super) inner: Body,
        // When the response must be complete; `None` for a stream.
        #[pin]
        pub(super) timeout: Option<Sleep>,
        pub(super) observation: Observation,
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        let Ok(polled) = catch_unwind(AssertUnwindSafe(|| this.inner.poll_frame(cx))) else {
            tracing::error!("the body of a response panicked");
            return Poll::Ready(Some(Err(BodyError::Panicked.into())));
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            this.observation.sent(frame.data_ref().map_or(0, Bytes::len));
        }
        let late = |sleep: Pin<&mut Sleep>| polled.is_pending() && sleep.poll(cx).is_ready();
        if this.timeout.as_pin_mut().is_some_and(late) {
            return Poll::Ready(Some(Err(BodyError::TimedOut.into())));
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
