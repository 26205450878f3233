//! The operators' port of a role, and the monitoring port of a nats-server, over plain HTTP.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What an operators' port answers.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Asks for a page, such as `/metrics`.
///
/// # Errors
/// Nobody listens there, or the connection breaks.
pub async fn get(addr: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(addr).await?;
    // HTTP/1.0: nobody answers that in chunks.
    let request = format!("GET {path} HTTP/1.0\r\nhost: {addr}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let broken = || io::Error::from(io::ErrorKind::InvalidData);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Ok(Answer {
        status: status.ok_or_else(broken)?,
        body: body.to_owned(),
    })
}

/// Whether the role there says that it is ready.
pub async fn is_ready(addr: SocketAddr) -> bool {
    get(addr, "/readyz")
        .await
        .is_ok_and(|answer| answer.status == 200)
}
