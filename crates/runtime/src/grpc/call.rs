//! The layer around every call: admission, telemetry, deadline.
//!
//! One future does all three, so that this layer allocates nothing per call.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Context, Poll};

use futures::future::{Either, Ready, ready};
use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::Service;

use super::admission;
use super::deadline::{Deadline, deadline_passed};
use super::method::Kind;
use super::observe::{Observation, status_of};
use super::rules::Rules;
use super::stream::StreamBody;
use crate::net::{Exchange, ReceivedBody};

/// A service with the rules.
#[derive(Debug, Clone)]
pub(super) struct Calls<S> {
    pub(super) inner: S,
    pub(super) rules: Arc<Rules>,
}

impl<S> Service<Request<ReceivedBody>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<Ready<Result<Self::Response, Infallible>>, CallFuture<S::Future>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReceivedBody>) -> Self::Future {
        let method = self.rules.methods.find(request.uri().path());
        let mut observation = Observation::start(method, request.headers(), &self.rules.trusted_callers);
        let slot = match self.rules.admission.admit(method) {
            Ok(slot) => slot,
            Err(status) => {
                observation.end(status.code());
                return Either::Left(ready(Ok(status.into_http())));
            }
        };
        let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
        if let (Some(slot), Some(exchange)) = (slot, &exchange) {
            exchange.hold(slot);
        }
        let mut request =
            request.map(|body| if method.may_pause() { Body::new(body.with_pauses()) } else { Body::new(body) });
        let deadline = Deadline::for_call(method.kind, request.headers(), self.rules.unary_timeout, Instant::now());
        observation.deadline = deadline;
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(deadline);
        }
        let inner = observation.span.in_scope(|| self.inner.call(request));
        Either::Right(CallFuture {
            inner,
            sleep: deadline.map(|deadline| sleep_until(deadline.at())),
            active: Some(ActiveCall { observation, exchange, rules: Arc::clone(&self.rules) }),
        })
    }
}

#[derive(Debug)]
struct ActiveCall {
    observation: Observation,
    /// It holds the slot.
    exchange: Option<Arc<Exchange>>,
    rules: Arc<Rules>,
}

pin_project! {
    pub(super) struct CallFuture<F> {
        #[pin]
        inner: F,
        #[pin]
        sleep: Option<Sleep>,
        // `None` after the response.
        active: Option<ActiveCall>,
    }
}

impl<F> Future for CallFuture<F>
where
    F: Future<Output = Result<Response<Body>, Infallible>>,
{
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Some(active) = this.active.as_ref() else {
            return Poll::Pending;
        };
        let polled = active.observation.span.in_scope(|| this.inner.poll(cx));
        let response = match polled {
            Poll::Ready(Ok(response)) => response,
            Poll::Pending => task::ready!(poll_end(active, this.sleep, cx)).into_http(),
        };
        Poll::Ready(Ok(match this.active.take() {
            Some(active) => finish(active, response),
            None => response,
        }))
    }
}

/// The status of a call that ends without a response: its request is late, or its deadline has passed.
fn poll_end(active: &ActiveCall, sleep: Pin<&mut Option<Sleep>>, cx: &mut Context<'_>) -> Poll<Status> {
    if let Some(exchange) = &active.exchange
        && let Poll::Ready(reason) = exchange.poll_interrupted(cx)
    {
        return Poll::Ready(admission::interrupted(reason));
    }
    match sleep.as_pin_mut() {
        Some(sleep) => sleep.poll(cx).map(|()| deadline_passed()),
        None => Poll::Pending,
    }
}

/// Ends the observation, or passes it to the body of a stream.
fn finish(active: ActiveCall, response: Response<Body>) -> Response<Body> {
    let ActiveCall { mut observation, exchange, rules } = active;
    let status = status_of(response.headers());
    if status.is_none() && observation.method.kind != Kind::Unary {
        // The handler has read the request.
        if let Some(exchange) = &exchange {
            exchange.release_memory();
        }
        return response.map(|body| Body::new(StreamBody::new(body, observation, exchange, &rules)));
    }
    if let Some(exchange) = exchange {
        exchange.release();
    }
    observation.end(status.unwrap_or(Code::Ok));
    response
}
