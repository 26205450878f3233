//! A proxy between store and server. It notes requests and injects faults.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::http::{HttpServer, ReplyBody, client, read_body, whole};

/// Maximum wait for a request.
const REQUEST_WAIT: Duration = Duration::from_mins(2);

/// An operation of S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Get,
    Head,
    List,
    Delete,
    CreateUpload,
    PutPart,
    CompleteUpload,
    AbortUpload,
    ListUploads,
}

#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The answer is 503 `SlowDown`; the server gets nothing.
    SlowDown,
    /// The answer is 403 `AccessDenied`; the server gets nothing.
    Denied,
    /// The connection closes after this many bytes of the request's body; the server gets nothing.
    CutRequest(usize),
    /// The server gets the request; its reply is lost with the connection.
    LostReply,
    /// The connection closes after this many bytes of the reply's body.
    CutReply(usize),
    /// The reply comes later.
    Late(Duration),
    /// The server gets the request only when this is true.
    Held(watch::Receiver<bool>),
    /// One bit of the reply's body is flipped.
    FlippedBit,
    /// The reply has this body instead of its own.
    Replaced(Bytes),
}

struct Rule {
    operation: Operation,
    /// The number of requests that it still applies to.
    left: usize,
    fault: Fault,
}

/// A request and its reply.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) operation: Operation,
    pub(crate) headers: HeaderMap,
    /// The body of the server's reply; `None` without a reply.
    pub(crate) reply: Option<Bytes>,
}

impl Exchange {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

struct State {
    server: String,
    client: reqwest::Client,
    rules: Mutex<Vec<Rule>>,
    exchanges: watch::Sender<Vec<Exchange>>,
}

pub(crate) struct Proxy {
    server: HttpServer,
    state: Arc<State>,
}

impl Proxy {
    pub(crate) async fn start(server: String) -> Self {
        let state =
            Arc::new(State { server, client: client(), rules: Mutex::default(), exchanges: watch::Sender::default() });
        let shared = Arc::clone(&state);
        let service = service_fn(move |request| {
            let state = Arc::clone(&shared);
            async move { state.answer(request).await }
        });
        Self { server: HttpServer::start(service).await, state }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Injects a fault into the next requests of an operation.
    pub(crate) fn inject(&self, operation: Operation, times: usize, fault: Fault) {
        self.state.rules.lock().unwrap().push(Rule { operation, left: times, fault });
    }

    /// Removes all faults and notes.
    pub(crate) fn reset(&self) {
        self.state.rules.lock().unwrap().clear();
        self.state.exchanges.send_modify(Vec::clear);
    }

    /// The requests of an operation, in order.
    pub(crate) fn exchanges(&self, operation: Operation) -> Vec<Exchange> {
        let all = self.state.exchanges.borrow();
        let of_operation = all.iter().filter(|one| one.operation == operation);
        of_operation.cloned().collect()
    }

    pub(crate) fn count(&self, operation: Operation) -> usize {
        self.exchanges(operation).len()
    }

    /// Waits until there were this many requests of an operation.
    pub(crate) async fn wait_for_count(&self, operation: Operation, count: usize) {
        self.wait(|all| {
            let of_operation = all.iter().filter(|one| one.operation == operation);
            of_operation.count() >= count
        })
        .await;
    }

    /// Waits until the server has replied to a request of an operation.
    pub(crate) async fn wait_for_reply(&self, operation: Operation) {
        self.wait(|all| all.iter().any(|one| one.operation == operation && one.reply.is_some())).await;
    }

    async fn wait(&self, condition: impl Fn(&Vec<Exchange>) -> bool) {
        let mut exchanges = self.state.exchanges.subscribe();
        timeout(REQUEST_WAIT, exchanges.wait_for(condition)).await.expect("no such request").expect("a proxy");
    }
}

impl State {
    /// An error closes the connection.
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<ReplyBody>> {
        let operation = operation_of(request.method(), request.uri());
        let number = self.note(operation, &request);
        match self.fault(operation) {
            None => self.forward(request, number).await,
            Some(Fault::SlowDown) => refuse(request, StatusCode::SERVICE_UNAVAILABLE, "SlowDown").await,
            Some(Fault::Denied) => refuse(request, StatusCode::FORBIDDEN, "AccessDenied").await,
            Some(Fault::CutRequest(bytes)) => {
                read_body(request.into_body(), bytes).await;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Some(Fault::LostReply) => {
                self.forward(request, number).await?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Some(Fault::CutReply(bytes)) => {
                let reply = self.forward(request, number).await?;
                let sent = self.reply_to(number).slice(..bytes);
                Ok(reply.map(|_| cut(sent)))
            }
            Some(Fault::Late(delay)) => {
                let reply = self.forward(request, number).await;
                sleep(delay).await;
                reply
            }
            Some(Fault::Held(mut released)) => {
                released.wait_for(|released| *released).await.expect("a test that releases it");
                self.forward(request, number).await
            }
            Some(Fault::FlippedBit) => {
                let reply = self.forward(request, number).await?;
                let mut bytes = self.reply_to(number).to_vec();
                bytes[0] ^= 1;
                Ok(reply.map(|_| whole(bytes.into())))
            }
            Some(Fault::Replaced(bytes)) => {
                let mut reply = self.forward(request, number).await?;
                reply.headers_mut().remove(CONTENT_LENGTH);
                Ok(reply.map(|_| whole(bytes)))
            }
        }
    }

    fn note(&self, operation: Operation, request: &Request<Incoming>) -> usize {
        let exchange = Exchange { operation, headers: request.headers().clone(), reply: None };
        let mut number = 0;
        self.exchanges.send_modify(|all| {
            number = all.len();
            all.push(exchange);
        });
        number
    }

    fn reply_to(&self, number: usize) -> Bytes {
        self.exchanges.borrow()[number].reply.clone().unwrap()
    }

    fn fault(&self, operation: Operation) -> Option<Fault> {
        let mut rules = self.rules.lock().unwrap();
        let mut due = rules.iter_mut();
        let rule = due.find(|rule| rule.operation == operation && rule.left > 0)?;
        rule.left -= 1;
        Some(rule.fault.clone())
    }

    async fn forward(&self, request: Request<Incoming>, number: usize) -> io::Result<Response<ReplyBody>> {
        let (parts, body) = request.into_parts();
        let body = read_body(body, usize::MAX).await;
        let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
        let sent = self
            .client
            .request(parts.method, format!("{}{target}", self.server))
            .headers(parts.headers)
            .body(body)
            .send();
        let reply = sent.await.map_err(io::Error::other)?;
        let mut answer = Response::builder().status(reply.status());
        for (name, value) in reply.headers() {
            if *name != CONNECTION && *name != TRANSFER_ENCODING {
                answer = answer.header(name, value);
            }
        }
        let bytes = reply.bytes().await.map_err(io::Error::other)?;
        self.exchanges.send_modify(|all| {
            if let Some(exchange) = all.get_mut(number) {
                exchange.reply = Some(bytes.clone());
            }
        });
        answer.body(whole(bytes)).map_err(io::Error::other)
    }
}

async fn refuse(request: Request<Incoming>, status: StatusCode, code: &str) -> io::Result<Response<ReplyBody>> {
    read_body(request.into_body(), usize::MAX).await;
    let answer = Response::builder().status(status);
    let body = format!("<Error><Code>{code}</Code></Error>");
    answer.body(whole(body.into())).map_err(io::Error::other)
}

/// A body that breaks off. The connection is idle for a moment first, so that the bytes are sent.
fn cut(bytes: Bytes) -> ReplyBody {
    let sent = stream::iter([Ok(Frame::data(bytes))]);
    let broken = stream::once(async {
        tokio::task::yield_now().await;
        Err(io::ErrorKind::ConnectionReset.into())
    });
    BodyExt::boxed(StreamBody::new(sent.chain(broken)))
}

fn operation_of(method: &Method, uri: &Uri) -> Operation {
    let query = uri.query().unwrap_or_default();
    let has = |name: &str| {
        let mut names = query.split('&').filter_map(|one| one.split('=').next());
        names.any(|one| one == name)
    };
    match method.as_str() {
        "PUT" if has("partNumber") => Operation::PutPart,
        "PUT" => Operation::Put,
        "HEAD" => Operation::Head,
        "GET" if has("list-type") => Operation::List,
        "GET" if has("uploads") => Operation::ListUploads,
        "GET" => Operation::Get,
        "POST" if has("uploads") => Operation::CreateUpload,
        "POST" if has("uploadId") => Operation::CompleteUpload,
        "DELETE" if has("uploadId") => Operation::AbortUpload,
        "POST" | "DELETE" => Operation::Delete,
        _ => panic!("unknown operation: {method} {uri}"),
    }
}
