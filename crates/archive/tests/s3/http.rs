//! A listener of HTTP/1.1 on a free port.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;

use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

/// Closes its port and its connections when it is dropped.
pub(crate) struct HttpServer {
    addr: SocketAddr,
    task: AbortHandle,
}

impl HttpServer {
    /// Serves a service. A connection is closed if the service returns an error.
    pub(crate) async fn start<S, B>(service: S) -> Self
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                socket.set_nodelay(true).unwrap();
                let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service.clone());
                connections.spawn(async move {
                    // The client or a fault closed it.
                    let _closed = connection.await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { addr, task: task.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A client without the proxy of the environment.
pub(crate) fn client() -> reqwest::Client {
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// The whole body of a request, or what came before its client closed the connection.
pub(crate) async fn read_body(mut body: Incoming, bytes_max: usize) -> Bytes {
    let mut read = Vec::new();
    while read.len() < bytes_max
        && let Some(Ok(frame)) = body.frame().await
    {
        read.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    Bytes::from(read)
}

pub(crate) type ReplyBody = http_body_util::combinators::BoxBody<Bytes, std::io::Error>;

/// A body that is sent completely.
pub(crate) fn whole(bytes: Bytes) -> ReplyBody {
    let body = http_body_util::Full::new(bytes);
    body.map_err(|never: Infallible| match never {}).boxed()
}
