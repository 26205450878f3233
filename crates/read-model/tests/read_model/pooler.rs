//! A pooler between a program and Postgres, reduced to what poolers do with the sessions of their clients.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What a pooler does with the startup options of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Options {
    /// It refuses the connection.
    Refused,
    /// It drops them.
    Dropped,
    /// The server gets them.
    Passed,
}

/// For how long a client has the same session of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Session,
    Transaction,
    Statement,
}

/// How a pooler behaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    pub(crate) options: Options,
    pub(crate) mode: Mode,
    /// The first digits of the version that clients see, instead of the server's.
    pub(crate) version: Option<[u8; 2]>,
}

/// The URL of a database of the shared server through a new pooler, which ends with the test.
pub(crate) async fn through_pooler(url: &str, behaviour: Behaviour) -> String {
    let (_, address) = url.split_once("@localhost:").unwrap();
    let (port, database) = address.split_once('?').unwrap().0.split_once('/').unwrap();
    let port = port.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let pool = Arc::new(Pool { port, behaviour, idle: Mutex::default() });
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let pool = Arc::clone(&pool);
            // An error is the end of a connection.
            tokio::spawn(async move { pool.serve(client).await });
        }
    });
    format!("postgres://hansard@{address}/{database}?sslmode=disable")
}

struct Pool {
    port: u16,
    behaviour: Behaviour,
    /// Sessions of the server that no client has.
    idle: Mutex<VecDeque<TcpStream>>,
}

impl Pool {
    async fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let size = client.read_u32().await?;
        let mut startup = vec![0; usize::try_from(size).unwrap() - 4];
        client.read_exact(&mut startup).await?;
        match self.behaviour.options {
            Options::Refused if without_options(&startup) != startup => {
                return client.write_all(&message(b'E', b"SFATAL\0VFATAL\0C08P01\0Mno options\0\0")).await;
            }
            Options::Passed => {}
            Options::Refused | Options::Dropped => startup = without_options(&startup),
        }
        let (server, mut greeting) = self.start(&startup).await?;
        self.set_version(&mut greeting);
        client.write_all(&greeting).await?;
        self.relay(client, &startup, server).await
    }

    /// Relays requests and their answers. The next session of the server takes its turn when the mode lets it.
    async fn relay(&self, mut client: TcpStream, startup: &[u8], first: TcpStream) -> io::Result<()> {
        let mut taken = self.keep_or_give_back(first, b'I');
        loop {
            let request = request(&mut client).await?;
            let mut server = match taken.take() {
                Some(server) => server,
                None => self.take(startup).await?,
            };
            server.write_all(&request).await?;
            let (answer, state) = answer(&mut server).await?;
            client.write_all(&answer).await?;
            taken = self.keep_or_give_back(server, state);
        }
    }

    /// A session of the server, after its greeting.
    async fn start(&self, startup: &[u8]) -> io::Result<(TcpStream, Vec<u8>)> {
        let mut server = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let size = u32::try_from(startup.len() + 4).unwrap();
        server.write_all(&[&size.to_be_bytes(), startup].concat()).await?;
        let (greeting, _) = answer(&mut server).await?;
        Ok((server, greeting))
    }

    /// The session that was idle longest; a new one while there are fewer than two.
    async fn take(&self, startup: &[u8]) -> io::Result<TcpStream> {
        let idle = {
            let mut idle = self.idle.lock().unwrap();
            if idle.len() < 2 { None } else { idle.pop_front() }
        };
        match idle {
            Some(server) => Ok(server),
            None => Ok(self.start(startup).await?.0),
        }
    }

    /// The session, if its client keeps it in that state of a transaction.
    fn keep_or_give_back(&self, server: TcpStream, state: u8) -> Option<TcpStream> {
        let is_kept = match self.behaviour.mode {
            Mode::Session => true,
            Mode::Transaction => state != b'I',
            // The next statement of a transaction runs in another session.
            Mode::Statement => false,
        };
        if is_kept {
            return Some(server);
        }
        self.idle.lock().unwrap().push_back(server);
        None
    }

    fn set_version(&self, greeting: &mut [u8]) {
        let name = b"server_version\0";
        let at = greeting.windows(name.len()).position(|window| window == name);
        if let (Some(version), Some(at)) = (self.behaviour.version, at) {
            greeting[at + name.len()..][..version.len()].copy_from_slice(&version);
        }
    }
}

/// A startup message without its parameter `options`.
fn without_options(startup: &[u8]) -> Vec<u8> {
    let (protocol, parameters) = startup.split_at(4);
    let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let mut kept = protocol.to_vec();
    for pair in texts.chunks(2).take_while(|pair| !pair[0].is_empty()) {
        if pair[0] != b"options" {
            kept.extend([pair[0], b"\0", pair[1], b"\0"].concat());
        }
    }
    kept.push(0);
    kept
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let size = u32::try_from(body.len() + 4).unwrap();
    [&[kind][..], &size.to_be_bytes(), body].concat()
}

async fn read_message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let kind = stream.read_u8().await?;
    let size = stream.read_u32().await?;
    let mut body = vec![0; usize::try_from(size).unwrap() - 4];
    stream.read_exact(&mut body).await?;
    Ok(message(kind, &body))
}

/// The messages of a client up to one that has an answer: a query, a sync, or the end of a copy.
async fn request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        let message = read_message(client).await?;
        request.extend_from_slice(&message);
        match message[0] {
            b'Q' | b'S' | b'c' | b'f' => return Ok(request),
            b'X' => return Err(io::ErrorKind::ConnectionAborted.into()),
            _ => {}
        }
    }
}

/// The messages of a server up to its next request, and the state of its transaction: `I` is none.
async fn answer(server: &mut TcpStream) -> io::Result<(Vec<u8>, u8)> {
    let mut answer = Vec::new();
    loop {
        let message = read_message(server).await?;
        answer.extend_from_slice(&message);
        match message[0] {
            b'Z' => return Ok((answer, message[5])),
            // It waits for the rows of a copy.
            b'G' => return Ok((answer, b'T')),
            _ => {}
        }
    }
}
