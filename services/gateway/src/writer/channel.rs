//! The connection to the writer. A call that the writer does not answer fails with a reason for callers. A command with an
//! idempotency key is made again if its connection broke, for example because the writer was killed.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body as AnyBody;
use axum::http::request::Parts;
use axum::http::{Request, Response, Uri};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream;
use http_body_util::BodyExt as _;
use prost::Message as _;
use runtime::backoff::Backoff;
use runtime::failure_log::FailureLog;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower::{Service, ServiceExt as _};
use wire::proto::write::v1::write_service_server::SERVICE_NAME;
use wire::proto::write::v1::{ArchiveConversationRequest, CreateConversationRequest};
use wire::status::{Problem, Reason};

use crate::problem::RETRY_AFTER;

/// How long a command is made again after its connection broke. A writer that restarts, or another one, answers within that time.
const REPEAT_MAX: Duration = Duration::from_secs(2);
/// First and longest wait before a command is made again.
const REPEAT_WAITS: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(250));
/// The compression flag and the length before the message of a unary call.
const PREFIX_BYTES: usize = 5;

/// Reports calls that a writer does not answer. Clones share the bound of its lines.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    /// Without credentials and files.
    address: Arc<str>,
    log: FailureLog,
}

impl Outages {
    /// Those of the writer at an endpoint.
    pub(crate) fn of(endpoint: &Endpoint) -> Self {
        Self { address: address(endpoint.uri()).into(), log: FailureLog::default() }
    }

    /// Logs an unanswered call, at a bounded rate, and returns the status for its caller.
    pub(crate) fn unanswered(&self, cause: Code) -> Status {
        if let Some(unlogged) = self.log.failed(Instant::now()) {
            let address: &str = &self.address;
            tracing::warn!(writer.address = address, ?cause, unlogged, "the writer does not answer");
        }
        let problem = Problem::new(Reason::RecordUnavailable, "the writer does not answer: try again");
        problem.retry_after(RETRY_AFTER).into()
    }
}

fn address(uri: &Uri) -> String {
    let port = uri.port_u16().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{}{port}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
}

/// A connection to the writer for unary calls, each with the same timeout. Clones share it.
#[derive(Debug, Clone)]
pub struct WriterChannel {
    channel: Channel,
    outages: Outages,
    timeout: Duration,
}

impl WriterChannel {
    /// Connects at the first call. Needs a tokio runtime.
    pub(super) fn to(endpoint: &Endpoint) -> Self {
        Self { channel: endpoint.connect_lazy(), outages: Outages::of(endpoint), timeout: Duration::MAX }
    }

    /// The same connection for calls with this timeout.
    pub(super) fn with_timeout(&self, timeout: Duration) -> Self {
        Self { timeout, ..self.clone() }
    }

    async fn send(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let answer = timeout(self.timeout, self.answer(&head, &body)).await;
        answer.unwrap_or(Err(Code::DeadlineExceeded)).map_err(|cause| self.outages.unanswered(cause))
    }

    /// The answer to a call, which is made again if its connection broke and it has an idempotency key.
    async fn answer(&self, head: &Parts, body: &Bytes) -> Result<Response<Body>, Code> {
        let cause = match self.attempt(head, body).await {
            Ok(response) => return Ok(response),
            Err(cause) => cause,
        };
        // Without a connection nothing was sent, and the caller learns at once that there is no writer.
        if cause == Code::Unavailable || !has_key(head.uri.path(), body) {
            return Err(cause);
        }
        let (began, mut backoff) = (Instant::now(), Backoff::new(REPEAT_WAITS.0, REPEAT_WAITS.1));
        while began.elapsed() < REPEAT_MAX && backoff.wait().await {
            if let Ok(response) = self.attempt(head, body).await {
                return Ok(response);
            }
        }
        Err(cause)
    }

    /// Makes a call once. The code of a failure says whether a connection was missing, or broke.
    async fn attempt(&self, head: &Parts, body: &Bytes) -> Result<Response<Body>, Code> {
        // A stream, as the given body was: the transport adds no `content-length`.
        let body = AnyBody::from_stream(stream::once(ready(Ok::<_, Infallible>(body.clone()))));
        let request = Request::from_parts(head.clone(), Body::new(body));
        let answer = self.channel.clone().oneshot(request).await;
        let response = answer.map_err(|error| Status::from_error(Box::new(error)).code())?;
        let outages = self.outages.clone();
        Ok(response.map(|body| Body::new(body.map_err(move |broken| outages.unanswered(broken.code())))))
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

/// Whether a unary call is a command with an idempotency key: the writer carries it out once, however often it is made.
fn has_key(path: &str, body: &Bytes) -> bool {
    let Some(method) = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)) else {
        return false;
    };
    let Some(message) = body.get(PREFIX_BYTES..) else { return false };
    let key = if method == "/CreateConversation" {
        CreateConversationRequest::decode(message).ok().map(|request| request.idempotency_key)
    } else {
        // All other commands have the same first field.
        let request = ArchiveConversationRequest::decode(message).ok();
        request.and_then(|request| request.target).map(|target| target.idempotency_key)
    };
    key.is_some_and(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use wire::proto::write::v1::{AppendEventsRequest, CommandTarget};

    use super::*;

    fn body_of(message: &impl prost::Message) -> Bytes {
        [vec![0; PREFIX_BYTES], message.encode_to_vec()].concat().into()
    }

    #[test]
    fn commands_with_a_key_are_made_again() {
        let check = |method: &str, body: Bytes, expected: bool| {
            let path = format!("/{SERVICE_NAME}/{method}");
            assert_eq!(has_key(&path, &body), expected, "{method}");
        };
        for (key, expected) in [("k", true), ("", false)] {
            let target = Some(CommandTarget { idempotency_key: key.to_owned(), ..CommandTarget::default() });
            let append = AppendEventsRequest { target, ..AppendEventsRequest::default() };
            check("AppendEvents", body_of(&append), expected);
            let create = CreateConversationRequest {
                agent_id: "a".to_owned(),
                idempotency_key: key.to_owned(),
                ..CreateConversationRequest::default()
            };
            check("CreateConversation", body_of(&create), expected);
            assert!(!has_key("/hansard.operate.v1.RegistryService/CreateTenant", &body_of(&append)));
        }
        check("AppendEvents", Bytes::new(), false);
        check("AppendEvents", body_of(&AppendEventsRequest::default()), false);
    }

    #[test]
    fn an_address_has_no_credentials() {
        for (uri, expected) in [
            ("http://u:hunter2@writer:7301/", "http://writer:7301"),
            ("https://writer", "https://writer"),
            ("http://[::1]:7301", "http://[::1]:7301"),
        ] {
            assert_eq!(address(&uri.parse().unwrap()), expected);
        }
    }
}
