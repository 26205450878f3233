//! The plain protocol of NATS, for tests with stolen credentials.

use std::fmt::Debug;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::eventually::within;

/// The subject of replies.
const REPLIES: &str = "_INBOX.replies";

/// A connection of a user.
#[derive(Debug)]
pub struct RawNats(BufReader<Box<dyn Bytes>>);

/// The bytes of a connection, with or without TLS.
trait Bytes: AsyncRead + AsyncWrite + Unpin + Send + Debug {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Debug> Bytes for T {}

impl RawNats {
    /// Connects as a user; over TLS if the URL names files, as `tls://host:port?ca=FILE&cert=FILE&key=FILE`.
    ///
    /// # Panics
    /// When the server rejects the connection.
    pub async fn connect(url: &str, user: &str, password: &str) -> Self {
        let (_, address) = url.split_once("://").expect("a URL of NATS");
        let (address, files) = address.split_once('?').unwrap_or((address, ""));
        let stream = TcpStream::connect(address).await.expect("a connection");
        let stream: Box<dyn Bytes> =
            if files.is_empty() { Box::new(stream) } else { Box::new(start_tls(stream, files).await) };
        let mut connection = Self(BufReader::new(stream));
        let hello = json!({
            "user": user, "pass": password, "verbose": false, "pedantic": false,
            "headers": true, "no_responders": true, "lang": "test", "version": "1",
        });
        connection.send(&format!("CONNECT {hello}\r\n")).await;
        assert_eq!(connection.errors().await, Vec::<String>::new(), "{user}");
        connection
    }

    /// Publishes; returns the errors of the server.
    pub async fn publish(&mut self, subject: &str, reply: &str, payload: &str) -> Vec<String> {
        let bytes = payload.len();
        self.send(&format!("PUB {subject} {reply} {bytes}\r\n{payload}\r\n")).await;
        self.errors().await
    }

    /// Subscribes; returns the errors of the server.
    pub async fn subscribe(&mut self, subject: &str) -> Vec<String> {
        self.send(&format!("SUB {subject} 1\r\n")).await;
        self.errors().await
    }

    /// Waits for a message of a subscription; ignores its content.
    ///
    /// # Panics
    /// When none arrives in time.
    pub async fn message(&mut self) {
        let mut line = Vec::new();
        while !line.starts_with(b"MSG ") && !line.starts_with(b"HMSG ") {
            line.clear();
            let read = within("a message", self.0.read_until(b'\n', &mut line)).await;
            assert_ne!(read.expect("a line"), 0, "the server has hung up");
        }
    }

    /// Sends a request; returns the JSON of its reply.
    ///
    /// # Panics
    /// When no JSON arrives in time.
    pub async fn request(&mut self, subject: &str, body: &Value) -> Value {
        let body = body.to_string();
        self.send(&format!("SUB {REPLIES} 2\r\nUNSUB 2 1\r\nPUB {subject} {REPLIES} {}\r\n{body}\r\n", body.len()))
            .await;
        let mut line = String::new();
        while !line.starts_with(&format!("MSG {REPLIES} ")) {
            line.clear();
            let read = within("a reply", self.0.read_line(&mut line)).await;
            assert_ne!(read.expect("a line"), 0, "the server has hung up");
        }
        line.clear();
        within("a payload", self.0.read_line(&mut line)).await.expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn send(&mut self, text: &str) {
        let stream = self.0.get_mut();
        stream.write_all(text.as_bytes()).await.expect("a connection");
    }

    /// The errors before the answer to a ping, when all earlier commands are processed.
    async fn errors(&mut self) -> Vec<String> {
        self.send("PING\r\n").await;
        let mut errors = Vec::new();
        loop {
            let mut line = String::new();
            let read = within("a line of the server", self.0.read_line(&mut line)).await;
            assert_ne!(read.expect("a line"), 0, "the server has hung up");
            if line.starts_with("PONG") {
                return errors;
            }
            if let Some(error) = line.strip_prefix("-ERR ") {
                errors.push(error.trim().to_owned());
            }
        }
    }
}

/// Starts TLS on a connection with the files in a URL. The server announces TLS in plain text.
async fn start_tls(mut stream: TcpStream, files: &str) -> TlsStream<TcpStream> {
    while within("the server's first line", stream.read_u8()).await.expect("a byte") != b'\n' {}
    let file = |name: &str| {
        let mut named = files.split('&').filter_map(|one| one.split_once('='));
        let found = named.find(|(key, _)| *key == name);
        found.expect("a file").1
    };
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_file(file("ca")).expect("a CA");
    roots.add(ca).expect("a CA");
    let own = CertificateDer::from_pem_file(file("cert")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(file("key")).expect("a key");
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    let config = builder.with_client_auth_cert(vec![own], key).expect("a certificate");
    let name = ServerName::try_from("localhost").expect("a name");
    let opening = TlsConnector::from(Arc::new(config)).connect(name, stream);
    within("a connection of TLS", opening).await.expect("TLS")
}
