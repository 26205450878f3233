//! An HTTP/2 client with a small window or none. It answers PINGs and reads nothing.

use std::future::poll_fn;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::{Method, Request};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::stack::DEADLINE;

/// One connection.
pub(crate) struct Stalling {
    requests: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
    /// Open responses.
    pub(crate) bodies: Vec<RecvStream>,
}

impl Stalling {
    /// Connects; the server may send `window` bytes on each stream.
    pub(crate) async fn connect(addr: SocketAddr, window: u32) -> Self {
        let socket = TcpStream::connect(addr).await.unwrap();
        let handshake = Builder::new().initial_window_size(window).handshake(socket);
        let (requests, connection) = timeout(DEADLINE, handshake).await.unwrap().unwrap();
        Self { requests, connection: tokio::spawn(connection), bodies: Vec::new() }
    }

    pub(crate) async fn start(&mut self, path: &str) -> ResponseFuture {
        let mut requests = self.requests.clone().ready().await.unwrap();
        let request = Request::builder().method(Method::GET);
        let request = request.uri(format!("http://x{path}")).body(()).unwrap();
        requests.send_request(request, true).unwrap().0
    }

    /// Sends a GET request, and keeps the response open and unread.
    pub(crate) async fn hold(&mut self, path: &str) -> u16 {
        let response = timeout(DEADLINE, self.start(path).await).await.unwrap().unwrap();
        let status = response.status().as_u16();
        self.bodies.push(response.into_body());
        status
    }

    /// Waits until the server resets the last response.
    pub(crate) async fn reset(&mut self) -> Reason {
        let mut body = self.bodies.pop().unwrap();
        let error = timeout(DEADLINE, poll_fn(|cx| body.poll_data(cx))).await.unwrap().unwrap().unwrap_err();
        error.reason().unwrap()
    }

    /// Waits until the server closes the connection.
    pub(crate) async fn closed(self) {
        let ended = timeout(DEADLINE, self.connection).await;
        drop(ended.expect("the server closes the connection").unwrap());
    }

    /// Whether the connection is still open.
    pub(crate) fn is_open(&self) -> bool {
        !self.connection.is_finished()
    }
}
