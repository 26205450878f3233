//! The connections to the writers. A call that no writer answers fails with a reason for callers. The module `attempts` decides which
//! calls are sent again, and to whom.
//!
//! | metric | unit | meaning |
//! |---|---|---|
//! | `hansard_gateway_writer_repeats_total` | calls | sent again, to another writer or the same, since one was silent or failed |

use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as SystemInstant};

use axum::body::Body as AnyBody;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Request, Response, response};
use backoff::exponential;
use backon::BackoffBuilder as _;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, FuturesUnordered, StreamExt as _};
use http_body_util::{BodyExt as _, BodyStream, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body as _, Frame};
use metrics::counter;
use runtime::failure_log::FailureLog;
use thiserror::Error;
use tokio::time::{Instant, sleep_until, timeout};
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Service, ServiceExt as _};
use wire::status::{Problem, Reason};

use super::attempts::{Attempts, Failure, Step};
use super::peer::{Destination, Peer, Traffic, failure_of};
use super::pool::WriterPool;
use super::repeatable::repeat_of;
use crate::problem::RETRY_AFTER;

/// First and longest wait before a call is sent again to the same writer.
const REPEAT_WAITS: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));
/// Maximum size of a call, in bytes: the writers' maximum of a message, and the prefix of a unary call.
const CALL_BYTES_MAX: usize = 32 * 1024 * 1024 + 5;
/// Maximum size of an answer, in bytes.
const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// In the extensions of a response: the call was sent more than once, so its own earlier attempt may be what the writer replays.
#[derive(Debug, Clone, Copy)]
pub struct Repeated;

/// Other servers than writers answer at the addresses of the writers.
#[derive(Debug, Error)]
#[error("`writer_url`: no writer answers at {0}, but another server: set it to the gRPC port of a writer")]
pub struct NoWriter(Arc<str>);

/// Reports calls that no writer answers. Clones share the bound of its lines.
#[derive(Debug, Clone)]
struct Outages {
    /// Without credentials and files.
    addresses: Arc<str>,
    log: FailureLog,
}

impl Outages {
    fn unanswered(&self, cause: Code) -> Status {
        if let Some(unlogged) = self.log.failed(SystemInstant::now()) {
            let addresses: &str = &self.addresses;
            tracing::warn!(writer.addresses = addresses, ?cause, unlogged, "no writer answers");
        }
        let problem = Problem::new(Reason::RecordUnavailable, "the writer does not answer: try again");
        problem.retry_after(RETRY_AFTER).into()
    }
}

/// What one attempt came to.
struct Outcome {
    /// `None`: the answer is for the caller.
    failure: Option<Failure>,
    answer: Result<Response<Body>, Code>,
}

/// The connections to the writers for unary calls, each with the same timeout. Clones share them.
#[derive(Debug, Clone)]
pub struct WriterChannel {
    pool: WriterPool,
    traffic: Traffic,
    outages: Outages,
    timeout: Duration,
}

impl WriterChannel {
    /// Connects at the first call. Needs a tokio runtime.
    pub(super) fn to(endpoints: Vec<Endpoint>) -> Self {
        let addresses: Vec<String> = endpoints.iter().map(address).collect();
        let outages = Outages { addresses: addresses.join(",").into(), log: FailureLog::default() };
        Self { pool: WriterPool::new(endpoints), traffic: Traffic::Own, outages, timeout: Duration::MAX }
    }

    /// For calls with this timeout.
    pub(super) fn with_timeout(&self, timeout: Duration) -> Self {
        Self { timeout, ..self.clone() }
    }

    /// For calls of gRPC callers, with connections of their own and without a timeout.
    pub(super) fn forwarding(&self) -> Self {
        Self { traffic: Traffic::Forwarded, timeout: Duration::MAX, ..self.clone() }
    }

    /// Opens a connection for one stream, to a writer that answers.
    ///
    /// # Errors
    /// As those of calls.
    pub async fn open_for_stream(&self) -> Result<StreamChannel, Status> {
        let mut cause = Code::Unavailable;
        for peer in self.pool.by_preference() {
            match peer.connect().await {
                Ok(channel) => return Ok(StreamChannel { channel, outages: self.outages.clone() }),
                Err(error) => {
                    peer.mark_down();
                    cause = Status::from_error(Box::new(error)).code();
                }
            }
        }
        Err(self.outages.unanswered(cause))
    }

    /// Checks that a writer may answer at one of the addresses. One that is down may.
    ///
    /// # Errors
    /// [`NoWriter`].
    pub(super) fn check(&self) -> Result<(), NoWriter> {
        if self.pool.by_preference().is_empty() {
            return Err(NoWriter(Arc::clone(&self.outages.addresses)));
        }
        Ok(())
    }

    async fn send(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let body = Limited::new(body, CALL_BYTES_MAX).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                return Status::out_of_range(format!("the message is longer than {CALL_BYTES_MAX} bytes"));
            }
            Status::from_error(error)
        })?;
        let body = body.to_bytes();
        let answer = timeout(self.timeout, self.answer(&head, &body)).await;
        answer.unwrap_or(Err(Code::DeadlineExceeded)).map_err(|cause| self.outages.unanswered(cause))
    }

    /// The first answer to a call.
    async fn answer(&self, head: &Parts, body: &Bytes) -> Result<Response<Body>, Code> {
        let peers = self.pool.by_preference();
        let mut attempts = Attempts::new(repeat_of(head.uri.path(), body), peers.len());
        let mut pauses = exponential(REPEAT_WAITS.0, REPEAT_WAITS.1).build();
        let mut calls = FuturesUnordered::new();
        let mut last = Err(Code::Unavailable);
        loop {
            let until = match attempts.next(Instant::now()) {
                Step::Wait(until) => until,
                Step::End => return last,
                Step::Send(index) => {
                    attempts.in_flight().filter_map(|silent| peers.get(silent)).for_each(|peer| peer.mark_down());
                    attempts.sent(index, Instant::now());
                    if attempts.is_repeated() {
                        counter!("hansard_gateway_writer_repeats_total").increment(1);
                    }
                    let Some(peer) = peers.get(index) else { return last };
                    calls.push(async move { (index, self.attempt(peer, head, body).await) });
                    continue;
                }
            };
            let (index, outcome) = tokio::select! {
                Some(ended) = calls.next() => ended,
                () = reached(until) => continue,
            };
            let Some(peer) = peers.get(index) else { return last };
            let Some(failure) = outcome.failure else {
                peer.mark_up();
                return outcome.answer.map(|answer| if attempts.is_repeated() { repeated(answer) } else { answer });
            };
            peer.mark_down();
            let pause = pauses.next().unwrap_or(REPEAT_WAITS.1);
            attempts.failed(index, failure, Instant::now(), pause);
            // What a writer says is better than that none answers.
            if outcome.answer.is_ok() || last.is_err() {
                last = outcome.answer;
            }
        }
    }

    /// Makes a call once.
    async fn attempt(&self, peer: &Peer, head: &Parts, body: &Bytes) -> Outcome {
        // A stream, as the given body was: the transport adds no `content-length`.
        let body = AnyBody::from_stream(stream::once(ready(Ok::<_, Infallible>(body.clone()))));
        let request = Request::from_parts(head.clone(), Body::new(body));
        let response = match peer.channel(self.traffic).oneshot(request).await {
            Ok(response) => response,
            Err(error) => {
                let failure = failure_of(&error);
                return Outcome { failure: Some(failure), answer: Err(Status::from_error(Box::new(error)).code()) };
            }
        };
        if !is_grpc(&response) {
            // A proxy may answer so for a writer that has the call.
            return Outcome { failure: Some(Failure::Unavailable), answer: Err(Code::Unavailable) };
        }
        let (head, body) = response.into_parts();
        let failure = failure_in(&head);
        match whole(body).await {
            Ok(body) => Outcome { failure, answer: Ok(Response::from_parts(head, body)) },
            Err(cause) => Outcome { failure: Some(Failure::Lost), answer: Err(cause) },
        }
    }
}

impl Service<Request<Body>> for WriterChannel {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sending = self.clone().send(request);
        Box::pin(async move { Ok(sending.await.unwrap_or_else(Status::into_http)) })
    }
}

/// The connection of one stream.
#[derive(Debug)]
pub struct StreamChannel {
    channel: Channel,
    outages: Outages,
}

impl StreamChannel {
    /// Sends the call of the stream. If the connection breaks later, the stream ends with the status of unanswered calls.
    ///
    /// # Errors
    /// The connection broke before the answer began.
    pub async fn send(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let Self { channel, outages } = self;
        let answer = channel.oneshot(request).await;
        let answer = answer.map_err(|error| outages.unanswered(Status::from_error(Box::new(error)).code()))?;
        if !is_grpc(&answer) {
            return Err(outages.unanswered(Code::Unavailable));
        }
        Ok(answer.map(|body| ended_by_status(body, outages)))
    }
}

/// The address of an endpoint without credentials.
fn address(endpoint: &Endpoint) -> String {
    format!("{}://{}", endpoint.uri().scheme_str().unwrap_or_default(), Destination::of(endpoint.uri()))
}

fn repeated(mut answer: Response<Body>) -> Response<Body> {
    answer.extensions_mut().insert(Repeated);
    answer
}

/// Whether the answer is that of a gRPC server. The port of another one answers in plain HTTP.
fn is_grpc(answer: &Response<Body>) -> bool {
    let content_type = answer.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.starts_with("application/grpc"))
}

/// How a writer that answered failed. A writer that drains rejects calls before it reads them.
fn failure_in(answer: &response::Parts) -> Option<Failure> {
    let status = Status::from_header_map(&answer.headers).filter(|status| status.code() == Code::Unavailable)?;
    Some(if Problem::from(status).reason() == Reason::Draining { Failure::NotSent } else { Failure::Unavailable })
}

/// The whole body of an answer. An answer that breaks off is no answer.
async fn whole(body: Body) -> Result<Body, Code> {
    // An answer that is only a status ends with its headers: callers expect it so.
    if body.is_end_stream() {
        return Ok(body);
    }
    let whole = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    whole.map(Body::new).map_err(|error| Status::from_error(error).code())
}

/// A body of a stream whose connection may break.
fn ended_by_status(body: Body, outages: Outages) -> Body {
    let frames = BodyStream::new(body).map(move |frame| {
        Ok::<_, Infallible>(frame.unwrap_or_else(|broken| {
            let (head, ()) = outages.unanswered(broken.code()).into_http().into_parts();
            Frame::trailers(head.headers)
        }))
    });
    Body::new(StreamBody::new(frames))
}

/// Waits until a time; `None`: forever.
async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use http_body_util::Full;
    use prost::Message as _;
    use tokio::net::TcpListener;
    use wire::proto::write::v1::{AppendEventsRequest, CommandTarget};

    use super::*;

    const APPEND: &str = "/hansard.write.v1.WriteService/AppendEvents";

    #[test]
    fn an_address_has_no_credentials() {
        for (uri, expected) in [
            ("http://u:hunter2@writer:7301/", "http://writer:7301"),
            ("https://writer", "https://writer:443"),
            ("http://[::1]:7301", "http://[::1]:7301"),
        ] {
            assert_eq!(address(&Endpoint::from_static(uri)), expected);
        }
    }

    /// A proxy that answers for a writer, and the number of its calls.
    async fn proxy() -> (Endpoint, Arc<AtomicUsize>) {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let answer = move || {
            counted.fetch_add(1, Ordering::SeqCst);
            ready((StatusCode::BAD_GATEWAY, "<html>"))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let server = axum::serve(listener, Router::new().route(APPEND, post(answer)));
        tokio::spawn(server.into_future());
        (endpoint, calls)
    }

    #[tokio::test]
    async fn a_command_without_a_key_is_not_repeated_after_a_proxys_answer() {
        for (key, expected) in [("", 1), ("k", 2)] {
            let ((one, of_one), (other, of_other)) = (proxy().await, proxy().await);
            let target = Some(CommandTarget { idempotency_key: key.to_owned(), ..CommandTarget::default() });
            let message = AppendEventsRequest { target, ..AppendEventsRequest::default() }.encode_to_vec();
            let body = Body::new(Full::new(Bytes::from([vec![0; 5], message].concat())));
            let request = Request::post(APPEND).body(body).unwrap();
            let status = WriterChannel::to(vec![one, other]).send(request).await.unwrap_err();
            assert_eq!(Problem::from(status).reason(), Reason::RecordUnavailable);
            let calls = of_one.load(Ordering::SeqCst) + of_other.load(Ordering::SeqCst);
            assert_eq!(calls, expected, "{key:?}");
        }
    }

    #[tokio::test]
    async fn a_broken_stream_ends_with_a_status() {
        let parts = [Ok(Frame::data(Bytes::from_static(b"x"))), Err(Status::unknown("h2 protocol error"))];
        let broken = Body::new(StreamBody::new(stream::iter(parts)));
        let outages = Outages { addresses: "".into(), log: FailureLog::default() };
        let ended = ended_by_status(broken, outages).collect().await.unwrap();
        let status = Status::from_header_map(ended.trailers().unwrap()).unwrap();
        assert_eq!(Problem::from(status).reason(), Reason::RecordUnavailable);
        assert_eq!(ended.to_bytes(), "x");
    }

    #[tokio::test]
    async fn an_answer_that_is_a_status_ends_with_its_headers() {
        assert!(whole(Body::empty()).await.unwrap().is_end_stream());
        let broken = Body::new(StreamBody::new(stream::iter([Err::<Frame<Bytes>, _>(Status::cancelled("x"))])));
        assert_eq!(whole(broken).await.unwrap_err(), Code::Cancelled);
    }

    #[test]
    fn a_writer_that_drains_has_not_read_the_call() {
        let check = |status: Status, expected: Option<Failure>| {
            let (head, ()) = status.clone().into_http().into_parts();
            assert_eq!(failure_in(&head), expected, "{status:?}");
        };
        check(Problem::new(Reason::Draining, "x").into(), Some(Failure::NotSent));
        check(Problem::new(Reason::RecordUnavailable, "x").into(), Some(Failure::Unavailable));
        check(Problem::new(Reason::VersionConflict, "x").into(), None);
        check(Problem::new(Reason::Overloaded, "x").into(), None);
    }
}
