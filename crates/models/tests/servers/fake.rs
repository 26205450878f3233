//! A fake model server that follows a script: for each request, the bytes to send, and whether to go silent or hang up.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Maximum time that a test waits for a condition.
const DEADLINE: Duration = Duration::from_secs(30);

/// The answer to one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    sends: Vec<u8>,
    then: Then,
}

/// The action after the bytes are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Then {
    #[default]
    KeepOpen,
    HangUp,
    GoSilent,
}

impl Script {
    /// A complete stream in these chunks.
    pub(crate) fn stream<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut script = Self::begun(chunks);
        script.sends.extend_from_slice(b"0\r\n\r\n");
        script
    }

    /// A stream that starts and does not end.
    pub(crate) fn begun<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut sends = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            sends.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            sends.extend_from_slice(chunk);
            sends.extend_from_slice(b"\r\n");
        }
        let then = Then::KeepOpen;
        Self { sends, then }
    }

    /// An answer without a stream. `headers` are complete lines.
    pub(crate) fn status(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let sends = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
        Self { sends: sends.into_bytes(), then: Then::KeepOpen }
    }

    /// No answer.
    pub(crate) fn nothing() -> Self {
        Self::default()
    }

    pub(crate) fn then_hang_up(mut self) -> Self {
        self.then = Then::HangUp;
        self
    }

    pub(crate) fn then_go_silent(mut self) -> Self {
        self.then = Then::GoSilent;
        self
    }
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The request line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

#[derive(Debug, Default)]
struct State {
    scripts: VecDeque<Script>,
    received: Vec<Received>,
    /// Connections that the client closed while the server was silent.
    left: usize,
}

/// The server. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct FakeServer {
    addr: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: JoinHandle<()>,
}

impl FakeServer {
    /// Starts a server that plays the scripts in order, and repeats the last one.
    pub(crate) async fn start(scripts: impl IntoIterator<Item = Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State { scripts: scripts.into_iter().collect(), ..State::default() }));
        let shared = Arc::clone(&state);
        let accepting = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(serve(socket, Arc::clone(&shared)));
            }
        });
        Self { addr, state, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    /// Replaces the scripts.
    pub(crate) fn play(&self, scripts: impl IntoIterator<Item = Script>) {
        self.state.lock().unwrap().scripts = scripts.into_iter().collect();
    }

    /// Waits until the client has closed a connection on which the server was silent.
    pub(crate) async fn is_left(&self) {
        let left = async {
            while self.state.lock().unwrap().left == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(DEADLINE, left).await.unwrap();
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut socket: TcpStream, state: Arc<Mutex<State>>) {
    socket.set_nodelay(true).unwrap();
    while let Some(received) = receive(&mut socket).await {
        let script = {
            let mut state = state.lock().unwrap();
            state.received.push(received);
            match state.scripts.len() {
                0 | 1 => state.scripts.front().cloned().unwrap_or_default(),
                _ => state.scripts.pop_front().unwrap(),
            }
        };
        if socket.write_all(&script.sends).await.is_err() || script.then == Then::HangUp {
            return;
        }
        if script.then == Then::GoSilent || script.sends.is_empty() {
            while socket.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
            state.lock().unwrap().left += 1;
            return;
        }
    }
}

async fn receive(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap().to_lowercase();
    let length: usize = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    while bytes.len() < head_end + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[head_end..].to_vec()).unwrap();
    Some(Received { head, body })
}
