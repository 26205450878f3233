//! A bucket of one test, behind a proxy that injects faults.

use std::time::Duration;

use archive::{S3Settings, Store, StoreUrl};
use bytes::Bytes;
use uuid::Uuid;

use crate::moto::Moto;
use crate::proxy::Proxy;
use crate::s3s_fs::S3sFs;

pub(crate) const ACCESS_KEY: &str = "test-access-key";
pub(crate) const SECRET_KEY: &str = "test-secret-key";
/// The bucket has other objects beside the archive's prefix.
const PREFIX: &str = "some/prefix";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    S3sFs,
    Moto,
}

enum Server {
    S3sFs(S3sFs),
    Moto(&'static Moto),
}

pub(crate) struct TestBucket {
    pub(crate) kind: ServerKind,
    pub(crate) proxy: Proxy,
    server: Server,
    bucket: String,
}

/// A bucket in each server.
pub(crate) async fn buckets() -> [TestBucket; 2] {
    [TestBucket::start(ServerKind::S3sFs).await, TestBucket::start(ServerKind::Moto).await]
}

impl TestBucket {
    async fn start(kind: ServerKind) -> Self {
        // `s3s-fs` has file names with the bucket and the object, of at most 255 bytes.
        let bucket = format!("b-{}", &Uuid::new_v4().simple().to_string()[..12]);
        let server = match kind {
            ServerKind::S3sFs => {
                let server = S3sFs::start().await;
                server.create_bucket(&bucket);
                Server::S3sFs(server)
            }
            ServerKind::Moto => {
                let server = Moto::shared();
                server.create_bucket(&bucket).await;
                Server::Moto(server)
            }
        };
        let url = match &server {
            Server::S3sFs(server) => server.url(),
            Server::Moto(server) => server.url(),
        };
        Self { kind, proxy: Proxy::start(url).await, server, bucket }
    }

    /// The settings of a client behind the proxy, and these. Retries wait for milliseconds, and no request of a slow machine
    /// times out.
    pub(crate) fn settings(&self, others: &[(&str, &str)]) -> S3Settings {
        let url = self.proxy.url();
        let own = [
            ("AWS_ENDPOINT", url.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
            ("AWS_TIMEOUT", "10m"),
            // Replaces the proxy of the environment, if there is one.
            ("AWS_PROXY_URL", url.as_str()),
            ("AWS_PROXY_EXCLUDES", "127.0.0.1"),
        ];
        let all = own.iter().chain(others).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut settings = S3Settings::of_variables(all);
        settings.retries.backoff_first = Duration::from_millis(1);
        settings.retries.backoff_max = Duration::from_millis(2);
        settings
    }

    pub(crate) fn url(&self) -> StoreUrl {
        StoreUrl::parse(&format!("s3://{}/{PREFIX}", self.bucket)).unwrap()
    }

    pub(crate) fn store(&self) -> Store {
        self.store_with(&self.settings(&[]))
    }

    pub(crate) fn store_with(&self, settings: &S3Settings) -> Store {
        Store::open_with(&self.url(), settings).unwrap()
    }

    /// The number of unfinished uploads in the server.
    pub(crate) async fn unfinished_uploads(&self) -> usize {
        match &self.server {
            Server::S3sFs(server) => server.unfinished_uploads(),
            Server::Moto(server) => server.unfinished_uploads(&self.bucket).await,
        }
    }
}

/// Bytes that differ from each other's neighbours, the same for the same length.
pub(crate) fn bytes_of(length: usize) -> Bytes {
    let mut bytes = Vec::with_capacity(length + 8);
    let mut word = 0_u64;
    while bytes.len() < length {
        bytes.extend_from_slice(&word.to_le_bytes());
        word = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
    }
    bytes.truncate(length);
    bytes.into()
}
