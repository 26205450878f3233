//! Plain HTTP requests to the admin port of a role and to the monitoring port of a nats-server.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer of an admin port.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Requests a page, such as `/metrics`.
///
/// # Errors
/// Nothing listens at the address, or the connection breaks.
pub async fn get(addr: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(addr).await?;
    // HTTP/1.0 answers are never chunked.
    let request = format!("GET {path} HTTP/1.0\r\nhost: {addr}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer { status: status.ok_or_else(broken)?, body: body.to_owned() })
}

/// Whether the role reports that it is ready.
pub async fn is_ready(addr: SocketAddr) -> bool {
    get(addr, "/readyz").await.is_ok_and(|answer| answer.status == 200)
}
