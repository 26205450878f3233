//! A TCP proxy between a role and a server: cuts, slows, mutes one direction, and loses answers to what was carried out.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

/// Most bytes that are passed on at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What becomes of bytes on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weather {
    /// They arrive.
    #[default]
    Fair,
    /// Each chunk is held up for so long.
    Slow(Duration),
    /// One direction stands still; what was sent arrives late, once the weather has changed.
    Muted(Direction),
    /// Both directions stand still.
    Parted,
    /// Once a client has said this, which the server gets, the answer is lost, and its connection with it.
    LosesAnswersTo(&'static [u8]),
}

/// A direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

/// What all connections share.
#[derive(Debug, Clone)]
struct Sky {
    weather: watch::Receiver<Weather>,
    cuts: watch::Receiver<u64>,
    lost: Arc<AtomicUsize>,
}

/// A proxy on a port of its own. Dropped: all connections are closed.
#[derive(Debug)]
pub struct Proxy {
    addr: SocketAddr,
    weather: watch::Sender<Weather>,
    cuts: watch::Sender<u64>,
    lost: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Proxy {
    /// A proxy at `addr`, such as [`crate::port::free`], to the server at `to`, which may not be there yet.
    ///
    /// # Panics
    /// When the port is taken.
    pub async fn start(addr: SocketAddr, to: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a port");
        let (weather, seen) = watch::channel(Weather::Fair);
        let (cuts, cut) = watch::channel(0);
        let lost = Arc::new(AtomicUsize::new(0));
        let sky = Sky {
            weather: seen,
            cuts: cut,
            lost: Arc::clone(&lost),
        };
        let task = tokio::spawn(accept(listener, to, sky));
        Self {
            addr,
            weather,
            cuts,
            lost,
            task: task.abort_handle(),
        }
    }

    /// Where clients connect to.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From now on, of old and new connections.
    pub fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// Closes every connection; new ones may be made.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// How many answers were lost so far.
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

async fn accept(listener: TcpListener, to: SocketAddr, sky: Sky) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(connect(client, to, sky.clone()));
        while connections.try_join_next().is_some() {}
    }
}

/// A connection ends with either of its sides, and by a cut.
async fn connect(client: TcpStream, to: SocketAddr, sky: Sky) {
    let (mut weather, mut cuts) = (sky.weather.clone(), sky.cuts.clone());
    let meets = |weather: &Weather| *weather != Weather::Parted;
    let is_over = weather.wait_for(meets).await.is_err();
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    if is_over
        || client
            .set_nodelay(true)
            .and(server.set_nodelay(true))
            .is_err()
    {
        return;
    }
    cuts.mark_unchanged();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let is_spoken = AtomicBool::new(false);
    let road = |direction| Road {
        direction,
        sky: &sky,
        is_spoken: &is_spoken,
    };
    tokio::select! {
        _ = cuts.changed() => {}
        _ = road(Direction::ToServer).pump(from_client, to_server) => {}
        _ = road(Direction::ToClient).pump(from_server, to_client) => {}
    }
}

/// One direction of one connection.
struct Road<'a> {
    direction: Direction,
    sky: &'a Sky,
    /// Whether the client has said what must not be answered.
    is_spoken: &'a AtomicBool,
}

impl Road<'_> {
    async fn pump(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
        let mut weather = self.sky.weather.clone();
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let count = from.read(&mut buffer).await?;
            let chunk = buffer.get(..count).unwrap_or_default();
            if chunk.is_empty() || self.is_lost() {
                return Ok(());
            }
            let before = *weather.borrow_and_update();
            if let Weather::Slow(delay) = before {
                sleep(delay).await;
            }
            let passes = |weather: &Weather| {
                *weather != Weather::Parted && *weather != Weather::Muted(self.direction)
            };
            let Ok(now) = weather.wait_for(passes).await.map(|now| *now) else {
                return Ok(());
            };
            to.write_all(chunk).await?;
            self.listen(chunk, now);
        }
    }

    /// Hears whether the server was told what must not be answered.
    fn listen(&self, chunk: &[u8], weather: Weather) {
        if let (Weather::LosesAnswersTo(words), Direction::ToServer) = (weather, self.direction)
            && chunk.windows(words.len()).any(|said| said == words)
        {
            self.is_spoken.store(true, Ordering::SeqCst);
        }
    }

    /// Whether a chunk is an answer that is lost.
    fn is_lost(&self) -> bool {
        let is_lost =
            self.direction == Direction::ToClient && self.is_spoken.load(Ordering::SeqCst);
        if is_lost {
            self.sky.lost.fetch_add(1, Ordering::SeqCst);
        }
        is_lost
    }
}
