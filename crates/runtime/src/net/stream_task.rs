//! The task of one HTTP/2 stream. It resets the stream if the client reads nothing, also while the transport has no window.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use metrics::counter;
use pin_project_lite::pin_project;
use tokio::task::futures::TaskLocalFuture;
use tokio::time::{Sleep, sleep_until};

use super::exchange::Exchange;

/// The exchange of a stream; set when its request is served.
type Stream = Arc<OnceLock<Arc<Exchange>>>;

tokio::task_local! {
    static STREAM: Stream;
}

/// Whether the current task serves an HTTP/2 stream. HTTP/1.1 requests run in the task of the connection.
pub(super) fn is_stream() -> bool {
    STREAM.try_with(|_| ()).is_ok()
}

pub(super) fn watch(exchange: &Arc<Exchange>) {
    // For HTTP/1.1, the task of the connection watches the exchange.
    let _ = STREAM.try_with(|stream| stream.set(Arc::clone(exchange)));
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamExecutor {
    pub(crate) write_timeout: Duration,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let exchange = Stream::default();
        tokio::spawn(StreamTask {
            inner: Some(STREAM.scope(Arc::clone(&exchange), stream)),
            sleep: None,
            exchange,
            write_timeout: self.write_timeout,
        });
    }
}

pin_project! {
    /// Dropping `inner` resets the stream.
    struct StreamTask<F> {
        #[pin]
        inner: Option<TaskLocalFuture<Stream, F>>,
        #[pin]
        sleep: Option<Sleep>,
        exchange: Stream,
        write_timeout: Duration,
    }
}

impl<F: Future<Output = ()>> Future for StreamTask<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else {
            return Poll::Ready(());
        };
        let polled = inner.poll(cx);
        let Some(exchange) = this.exchange.get() else {
            return polled;
        };
        if polled.is_ready() {
            exchange.task_ended();
            return polled;
        }
        exchange.register(cx);
        let reason = if exchange.must_reset() {
            "preempted"
        } else if is_stalled(exchange, *this.write_timeout, this.sleep, cx) {
            "write_timeout"
        } else {
            return Poll::Pending;
        };
        counter!("server_streams_reset_total", "reason" => reason).increment(1);
        this.inner.set(None);
        Poll::Ready(())
    }
}

/// Whether the client has read nothing for `timeout`; its timer wakes the task for the next check.
fn is_stalled(
    exchange: &Exchange,
    timeout: Duration,
    mut sleep: Pin<&mut Option<Sleep>>,
    cx: &mut Context<'_>,
) -> bool {
    loop {
        if sleep.is_none() {
            if exchange.unsent() == 0 {
                return false;
            }
            sleep.set(Some(sleep_until(exchange.progress() + timeout)));
        }
        if let Some(timer) = sleep.as_mut().as_pin_mut()
            && timer.poll(cx).is_pending()
        {
            return false;
        }
        if exchange.unsent() > 0 && exchange.progress().elapsed() >= timeout {
            return true;
        }
        sleep.set(None);
    }
}
