//! A TCP proxy between a role and a server with network faults: cut, slow, one direction muted, lost answers.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// The largest chunk that is forwarded, in bytes.
const CHUNK_BYTES: usize = 64 * 1024;
/// The longest chunk that is no answer, in bytes: a PING of HTTP/2. NATS's is shorter.
const PING_BYTES: usize = 17;
/// Maximum number of chunks on their way in one direction of a connection.
const CHUNKS_MAX: usize = 1_024;

/// The state of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Bytes are forwarded.
    #[default]
    Normal,
    /// Each chunk arrives so much later. A delay does not limit how many are on their way.
    Slow(Duration),
    /// One direction is stopped; its bytes arrive after the next change of the state.
    Muted(Direction),
    /// Both directions are stopped.
    Stopped,
    /// After a client has sent these bytes and the server has received them, the answer and the connection are lost.
    LosesAnswers(&'static [u8]),
}

impl Network {
    fn delay(self) -> Duration {
        if let Self::Slow(delay) = self {
            return delay;
        }
        Duration::ZERO
    }
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

/// The state that all connections share.
#[derive(Debug, Clone)]
struct Controls {
    network: watch::Receiver<Network>,
    cuts: watch::Receiver<u64>,
    lost: Arc<AtomicUsize>,
}

/// A proxy with its own port. All connections close when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    network: watch::Sender<Network>,
    cuts: watch::Sender<u64>,
    lost: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Proxy {
    /// A proxy at `addr`, such as [`crate::port::free`], to the server at `to`, which need not listen yet.
    ///
    /// # Panics
    /// When the port is taken.
    pub async fn start(addr: SocketAddr, to: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a port");
        let (network, seen) = watch::channel(Network::Normal);
        let (cuts, cut) = watch::channel(0);
        let lost = Arc::new(AtomicUsize::new(0));
        let controls = Controls { network: seen, cuts: cut, lost: Arc::clone(&lost) };
        let task = tokio::spawn(accept(listener, to, controls));
        Self { addr, network, cuts, lost, task: task.abort_handle() }
    }

    /// The address for clients.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Changes the state for old and new connections.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Closes every connection; new ones are accepted.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// The number of lost answers so far.
    #[must_use]
    pub fn lost(&self) -> usize {
        self.lost.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, controls: Controls) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(connect(client, to, controls.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// A connection ends when one of its sides ends, or on a cut.
async fn connect(client: TcpStream, to: SocketAddr, controls: Controls) {
    let (mut network, mut cuts) = (controls.network.clone(), controls.cuts.clone());
    let meets = |network: &Network| *network != Network::Stopped;
    let is_over = network.wait_for(meets).await.is_err();
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    if is_over || client.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    cuts.mark_unchanged();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let is_triggered = AtomicBool::new(false);
    let link = |direction| Link { direction, controls: &controls, is_triggered: &is_triggered };
    tokio::select! {
        _ = cuts.changed() => {}
        _ = link(Direction::ToServer).pump(from_client, to_server) => {}
        _ = link(Direction::ToClient).pump(from_server, to_client) => {}
    }
}

/// One direction of one connection.
struct Link<'a> {
    direction: Direction,
    controls: &'a Controls,
    /// Whether the client has sent the bytes whose answer is lost.
    is_triggered: &'a AtomicBool,
}

/// Bytes on their way.
struct Chunk {
    bytes: Vec<u8>,
    arrives_at: Instant,
}

impl Link<'_> {
    async fn pump(self, from: OwnedReadHalf, to: OwnedWriteHalf) -> io::Result<()> {
        let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
        tokio::try_join!(self.take(from, sender), self.deliver(chunks, to))?;
        Ok(())
    }

    /// Takes chunks from the sender until its end or a lost answer.
    async fn take(&self, mut from: OwnedReadHalf, chunks: mpsc::Sender<Chunk>) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let count = from.read(&mut buffer).await?;
            let bytes = buffer.get(..count).unwrap_or_default().to_vec();
            if bytes.is_empty() || (bytes.len() > PING_BYTES && self.is_lost()) {
                return Ok(());
            }
            let arrives_at = Instant::now() + self.controls.network.borrow().delay();
            if chunks.send(Chunk { bytes, arrives_at }).await.is_err() {
                return Ok(());
            }
        }
    }

    /// Delivers chunks in order.
    async fn deliver(&self, mut chunks: mpsc::Receiver<Chunk>, mut to: OwnedWriteHalf) -> io::Result<()> {
        let mut network = self.controls.network.clone();
        let passes = |network: &Network| *network != Network::Stopped && *network != Network::Muted(self.direction);
        while let Some(chunk) = chunks.recv().await {
            sleep_until(chunk.arrives_at).await;
            let Ok(now) = network.wait_for(passes).await.map(|now| *now) else {
                return Ok(());
            };
            to.write_all(&chunk.bytes).await?;
            self.listen(&chunk.bytes, now);
        }
        Ok(())
    }

    /// Notes whether the server has received the bytes whose answer is lost.
    fn listen(&self, chunk: &[u8], network: Network) {
        if let (Network::LosesAnswers(words), Direction::ToServer) = (network, self.direction)
            && chunk.windows(words.len()).any(|window| window == words)
        {
            self.is_triggered.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a chunk is a lost answer.
    fn is_lost(&self) -> bool {
        let is_lost = self.direction == Direction::ToClient && self.is_triggered.load(Ordering::SeqCst);
        if is_lost {
            self.controls.lost.fetch_add(1, Ordering::SeqCst);
        }
        is_lost
    }
}
