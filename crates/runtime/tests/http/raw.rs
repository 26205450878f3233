//! Bytes on a socket, for requests that a normal client does not send.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::stack::{DEADLINE, Stack};

/// Sends bytes, and reads until the server closes.
pub(crate) async fn exchange(stack: &Stack, bytes: &[u8]) -> String {
    let mut socket = TcpStream::connect(stack.addr).await.unwrap();
    socket.write_all(bytes).await.unwrap();
    read_to_end(&mut socket).await
}

pub(crate) async fn read_to_end(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, socket.read_to_end(&mut answer)).await;
    // A reset also ends the connection.
    drop(read.expect("the server closes in time"));
    String::from_utf8(answer).unwrap()
}

pub(crate) fn check(answer: &str, status: u16, code: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(code), "no {code} in {answer}");
}
