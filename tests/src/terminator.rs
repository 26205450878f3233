//! A TLS terminator before a Postgres without TLS. It negotiates TLS as Postgres does, and forwards the content.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::authority::Identity;

/// Source: <https://www.postgresql.org/docs/18/protocol-message-formats.html>, `SSLRequest`.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Listens until the test's runtime ends; returns the address.
///
/// # Panics
/// When no port is free, or the identity's files are invalid.
pub async fn before(postgres: SocketAddr, own: &Identity) -> SocketAddr {
    let acceptor = acceptor(own);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass(client, acceptor.clone(), postgres));
        }
    });
    addr
}

/// Clients that do not request TLS are rejected.
async fn pass(mut client: TcpStream, acceptor: TlsAcceptor, postgres: SocketAddr) -> io::Result<()> {
    let mut asked = [0; SSL_REQUEST.len()];
    client.read_exact(&mut asked).await?;
    if asked != SSL_REQUEST {
        return Ok(());
    }
    client.write_all(b"S").await?;
    let mut client = acceptor.accept(client).await?;
    let mut server = TcpStream::connect(postgres).await?;
    copy_bidirectional(&mut client, &mut server).await.map(|_| ())
}

fn acceptor(own: &Identity) -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(&own.cert)
        .expect("a certificate")
        .collect::<Result<Vec<_>, _>>()
        .expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(&own.key).expect("a key");
    let provider = Arc::new(ring::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let config = builder.with_no_client_auth().with_single_cert(chain, key);
    TlsAcceptor::from(Arc::new(config.expect("a configuration")))
}
