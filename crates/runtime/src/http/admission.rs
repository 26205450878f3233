//! Who may start: a place for each request and each stream, refusal when there is none.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::config::HttpConfig;
use super::problem::HttpProblem;
use crate::net::Drain;

/// The places of a server.
#[derive(Debug)]
pub(super) struct Admission {
    requests: Arc<Semaphore>,
    requests_max: usize,
    streams: Arc<Semaphore>,
    streams_max: usize,
    drain: Drain,
    retry_after: Duration,
}

impl Admission {
    pub(super) fn new(config: &HttpConfig, drain: Drain) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(config.requests_max)),
            requests_max: config.requests_max,
            streams: Arc::new(Semaphore::new(config.streams_max)),
            streams_max: config.streams_max,
            drain,
            retry_after: config.retry_after(),
        }
    }

    /// A place for a request, at once or not at all: a queue would only hide the load.
    pub(super) fn request(&self) -> Result<OwnedSemaphorePermit, HttpProblem> {
        if self.drain.has_begun() {
            return Err(self.draining());
        }
        let place = Arc::clone(&self.requests).try_acquire_owned();
        place.map_err(|_| self.overloaded(self.requests_max, "requests"))
    }

    fn stream(&self) -> Result<OwnedSemaphorePermit, HttpProblem> {
        if self.drain.has_begun() {
            return Err(self.draining());
        }
        let place = Arc::clone(&self.streams).try_acquire_owned();
        place.map_err(|_| self.overloaded(self.streams_max, "streams"))
    }

    fn draining(&self) -> HttpProblem {
        let detail = "server is shutting down: connect again";
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "DRAINING", detail)
            .retry_after(self.retry_after)
    }

    fn overloaded(&self, max: usize, noun: &str) -> HttpProblem {
        let detail = format!("server is at its bound of {max} {noun}: try again later");
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", detail)
            .retry_after(self.retry_after)
    }
}

/// Tells a handler that the server ends: an extension of every request.
#[derive(Debug, Clone)]
pub struct Draining(CancellationToken);

impl Draining {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Waits until the drain begins; from then on a stream has `drain_ms` to end by itself.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// The token that is cancelled when the drain begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// A place for a stream. Take it as the handler's first argument, so that it is refused before any work is done, and make
/// the answer with [`OpenStream::respond`].
#[derive(Debug)]
pub struct OpenStream {
    place: OwnedSemaphorePermit,
    draining: Draining,
}

/// The place of the stream that a response is, on its way to the body.
#[derive(Debug, Clone)]
pub(super) struct StreamPlace(
    #[expect(dead_code, reason = "held, never read")] Arc<OwnedSemaphorePermit>,
);

impl OpenStream {
    /// Tells of the server's end.
    #[must_use]
    pub fn draining(&self) -> Draining {
        self.draining.clone()
    }

    /// The answer as a stream: without a timeout, in a stream's place until its body ends or is dropped.
    #[must_use]
    pub fn respond(self, mut response: Response) -> Response {
        response
            .extensions_mut()
            .insert(StreamPlace(Arc::new(self.place)));
        response
    }
}

impl<S: Sync> FromRequestParts<S> for OpenStream {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let unserved = || {
            let detail = "the route is not served by a server that has streams";
            HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
        };
        let admission = parts
            .extensions
            .get::<Arc<Admission>>()
            .ok_or_else(unserved)?;
        let draining = parts.extensions.get::<Draining>().ok_or_else(unserved)?;
        Ok(Self {
            place: admission.stream()?,
            draining: draining.clone(),
        })
    }
}
