//! The layer around every call: admission, telemetry, deadline.
//!
//! One future does all three, so that this layer allocates nothing per call.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::deadline::{Deadline, deadline_passed};
use super::method::Kind;
use super::observe::{Observation, status_of};
use super::rules::Rules;
use super::stream::StreamBody;
use crate::net::{Exchange, ReceivedBody};

/// Applies the rules to a service.
#[derive(Debug, Clone)]
pub(super) struct CallLayer(pub(super) Arc<Rules>);

impl<S> Layer<S> for CallLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Calls {
            inner,
            rules: Arc::clone(&self.0),
        }
    }
}

/// A service with the rules.
#[derive(Debug, Clone)]
pub(super) struct Calls<S> {
    inner: S,
    rules: Arc<Rules>,
}

impl<S> Service<Request<ReceivedBody>> for Calls<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = CallFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<ReceivedBody>) -> Self::Future {
        let method = self.rules.methods.find(request.uri().path());
        let mut observation =
            Observation::start(method, request.headers(), &self.rules.trusted_callers);
        let slot = match self.rules.admission.admit(method) {
            Ok(slot) => slot,
            Err(status) => return CallFuture::rejected(observation, status),
        };
        let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
        if let (Some(slot), Some(exchange)) = (slot, &exchange) {
            exchange.hold(slot);
        }
        let mut request = request.map(|body| {
            if method.may_pause() {
                Body::new(body.with_pauses())
            } else {
                Body::new(body)
            }
        });
        let deadline = Deadline::for_call(
            method.kind,
            request.headers(),
            self.rules.unary_timeout,
            Instant::now(),
        );
        observation.set_deadline(deadline);
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(deadline);
        }
        let inner = observation.span().in_scope(|| self.inner.call(request));
        CallFuture {
            inner: Some(inner),
            sleep: deadline.map(|deadline| sleep_until(deadline.at())),
            rejection: None,
            active: Some(ActiveCall {
                observation,
                exchange,
                rules: Some(Arc::clone(&self.rules)),
            }),
        }
    }
}

/// The state of a call until its response.
#[derive(Debug)]
struct ActiveCall {
    observation: Observation,
    /// It holds the slot.
    exchange: Option<Arc<Exchange>>,
    /// `None` for a call that was rejected.
    rules: Option<Arc<Rules>>,
}

pin_project! {
    /// A call until its response headers.
    pub(super) struct CallFuture<F> {
        #[pin]
        inner: Option<F>,
        #[pin]
        sleep: Option<Sleep>,
        rejection: Option<Status>,
        active: Option<ActiveCall>,
    }
}

impl<F> CallFuture<F> {
    fn rejected(observation: Observation, status: Status) -> Self {
        Self {
            inner: None,
            sleep: None,
            rejection: Some(status),
            active: Some(ActiveCall {
                observation,
                exchange: None,
                rules: None,
            }),
        }
    }
}

impl<F> Future for CallFuture<F>
where
    F: Future<Output = Result<Response<Body>, Infallible>>,
{
    type Output = Result<Response<Body>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let entered = this
            .active
            .as_ref()
            .map(|active| active.observation.span().enter());
        let polled = match this.inner.as_pin_mut() {
            Some(inner) => inner.poll(cx),
            None => Poll::Ready(Ok(rejection(this.rejection.take()))),
        };
        drop(entered);
        let response = match polled {
            Poll::Ready(Ok(response)) => response,
            Poll::Pending => ready!(poll_end(this.active.as_ref(), this.sleep, cx)).into_http(),
        };
        Poll::Ready(Ok(match this.active.take() {
            Some(active) => finish(active, response),
            None => response,
        }))
    }
}

/// The status of a call that ends without a response: its request is late, or its deadline has passed.
fn poll_end(
    active: Option<&ActiveCall>,
    sleep: Pin<&mut Option<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<Status> {
    if let Some(active) = active
        && let (Some(exchange), Some(rules)) = (&active.exchange, &active.rules)
        && let Poll::Ready(reason) = exchange.poll_interrupted(cx)
    {
        return Poll::Ready(rules.admission.interrupted(reason));
    }
    match sleep.as_pin_mut() {
        Some(sleep) => sleep.poll(cx).map(|()| deadline_passed()),
        None => Poll::Pending,
    }
}

/// Ends the observation, or passes it to the body of a stream.
fn finish(mut active: ActiveCall, response: Response<Body>) -> Response<Body> {
    let streams = active.observation.kind() != Kind::Unary;
    match (status_of(response.headers()), active.rules) {
        (None, Some(rules)) if streams => {
            let (observation, exchange) = (active.observation, active.exchange);
            response.map(|body| Body::new(StreamBody::new(body, observation, exchange, rules)))
        }
        (status, _) => {
            if let Some(exchange) = active.exchange {
                exchange.release();
            }
            active.observation.end(status.unwrap_or(Code::Ok));
            response
        }
    }
}

fn rejection(status: Option<Status>) -> Response<Body> {
    status
        .unwrap_or_else(|| Status::internal("call polled after its end"))
        .into_http()
}
