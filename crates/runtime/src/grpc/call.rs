//! The one layer around every call: admit, observe, bound in time.
//!
//! One future does all three, so that a call costs no allocation here.

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

/// Puts the rules around a service.
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

/// A service under the rules.
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
            Err(status) => return CallFuture::refused(observation, status),
        };
        let exchange = request.extensions().get::<Arc<Exchange>>().cloned();
        if let (Some(slot), Some(exchange)) = (slot, &exchange) {
            exchange.occupy(slot);
        }
        let mut request = request.map(|body| {
            if method.may_pause() {
                Body::new(body.of_messages())
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
        observation.expect_by(deadline);
        if let Some(deadline) = deadline {
            request.extensions_mut().insert(deadline);
        }
        let inner = observation.span().in_scope(|| self.inner.call(request));
        CallFuture {
            inner: Some(inner),
            sleep: deadline.map(|deadline| sleep_until(deadline.at())),
            refusal: None,
            running: Some(Running {
                observation,
                exchange,
                rules: Some(Arc::clone(&self.rules)),
            }),
        }
    }
}

/// What a call holds while it runs.
#[derive(Debug)]
struct Running {
    observation: Observation,
    /// What holds the slot.
    exchange: Option<Arc<Exchange>>,
    /// `None` for a call that was refused.
    rules: Option<Arc<Rules>>,
}

pin_project! {
    /// A call up to its response headers.
    pub(super) struct CallFuture<F> {
        #[pin]
        inner: Option<F>,
        #[pin]
        sleep: Option<Sleep>,
        refusal: Option<Status>,
        running: Option<Running>,
    }
}

impl<F> CallFuture<F> {
    fn refused(observation: Observation, status: Status) -> Self {
        let running = Running {
            observation,
            exchange: None,
            rules: None,
        };
        Self {
            inner: None,
            sleep: None,
            refusal: Some(status),
            running: Some(running),
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
            .running
            .as_ref()
            .map(|running| running.observation.span().enter());
        let answer = match this.inner.as_pin_mut() {
            Some(inner) => inner.poll(cx),
            None => Poll::Ready(Ok(refusal(this.refusal.take()))),
        };
        drop(entered);
        let response = match answer {
            Poll::Ready(Ok(response)) => response,
            Poll::Pending => ready!(poll_end(this.running.as_ref(), this.sleep, cx)).into_http(),
        };
        Poll::Ready(Ok(match this.running.take() {
            Some(running) => answered(running, response),
            None => response,
        }))
    }
}

/// The status that ends a call which is not answered: its request is late, or its deadline has passed.
fn poll_end(
    running: Option<&Running>,
    sleep: Pin<&mut Option<Sleep>>,
    cx: &mut Context<'_>,
) -> Poll<Status> {
    if let Some(running) = running
        && let (Some(exchange), Some(rules)) = (&running.exchange, &running.rules)
        && let Poll::Ready(why) = exchange.poll_interrupted(cx)
    {
        return Poll::Ready(rules.admission.interrupted(why));
    }
    match sleep.as_pin_mut() {
        Some(sleep) => sleep.poll(cx).map(|()| deadline_passed()),
        None => Poll::Pending,
    }
}

/// Ends the observation, or hands it on to the body of a stream.
fn answered(mut running: Running, response: Response<Body>) -> Response<Body> {
    let streams = running.observation.kind() != Kind::Unary;
    match (status_of(response.headers()), running.rules) {
        (None, Some(rules)) if streams => {
            let (observation, exchange) = (running.observation, running.exchange);
            response.map(|body| Body::new(StreamBody::new(body, observation, exchange, rules)))
        }
        (status, _) => {
            if let Some(exchange) = running.exchange {
                exchange.vacate();
            }
            running.observation.end(status.unwrap_or(Code::Ok));
            response
        }
    }
}

fn refusal(status: Option<Status>) -> Response<Body> {
    status
        .unwrap_or_else(|| Status::internal("call polled after its end"))
        .into_http()
}
