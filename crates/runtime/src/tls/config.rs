//! The files of a door's TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;

use super::pem::{CA, PemError, certificates, key, roots};
use crate::config::{Checks, Validate};

/// The files of a door's TLS, each in PEM form. None of them: connections are plain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsConfig {
    /// The door's certificate, followed by those between it and its CA.
    pub cert: Option<PathBuf>,
    /// The certificate's private key: PKCS #8, PKCS #1 or SEC 1.
    pub key: Option<PathBuf>,
    /// The CAs of callers: with it, who shows no certificate of theirs is refused.
    pub client_ca: Option<PathBuf>,
}

/// A door's files cannot be used together.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is named without the one that it needs.
    #[error("tls.{0} is missing: name the file beside the others")]
    Missing(&'static str),
    /// A file does not hold what it was named for.
    #[error("tls.{setting}: {problem}")]
    File {
        /// Which of [`TlsConfig`].
        setting: &'static str,
        /// What is wrong with it.
        problem: PemError,
    },
    /// The files do not fit each other, or the certificate is not for servers.
    #[error("tls.cert and tls.key cannot be used together: {0}")]
    Unfit(String),
}

impl TlsError {
    /// Which of [`TlsConfig`] is to be mended.
    fn setting(&self) -> &'static str {
        match self {
            Self::Missing(setting) | Self::File { setting, .. } => setting,
            Self::Unfit(_) => "cert",
        }
    }

    /// What is wrong with it, to read on after the setting.
    fn rule(&self) -> String {
        match self {
            Self::Missing(_) => "is missing: name the file beside the others".to_owned(),
            Self::File { problem, .. } => format!("cannot be used: {problem}"),
            Self::Unfit(why) => format!("does not go with `key`: {why}"),
        }
    }
}

impl TlsConfig {
    /// Plain connections.
    pub const OFF: Self = Self {
        cert: None,
        key: None,
        client_ca: None,
    };

    pub(super) fn server(&self, protocols: &[&[u8]]) -> Result<ServerConfig, TlsError> {
        let unfit = |error| TlsError::Unfit(format!("{error}"));
        let chain = named(self.cert.as_deref(), "cert")?;
        let private = named(self.key.as_deref(), "key")?;
        let chain = certificates(chain).map_err(of("cert"))?;
        let private = key(private).map_err(of("key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(unfit)?;
        let builder = match self.client_ca.as_deref() {
            None => builder.with_no_client_auth(),
            Some(path) => builder.with_client_cert_verifier(callers(path)?),
        };
        let mut server = builder.with_single_cert(chain, private).map_err(unfit)?;
        server.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(server)
    }

    pub(super) fn paths(&self) -> [Option<&Path>; 3] {
        [&self.cert, &self.key, &self.client_ca].map(Option::as_deref)
    }
}

/// What lets in only who shows a certificate of these CAs.
fn callers(ca: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(roots(ca).map_err(of("client_ca"))?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
    let unusable = |_| PemError::Other {
        path: ca.display().to_string(),
        what: CA,
    };
    verifier.map_err(unusable).map_err(of("client_ca"))
}

fn of(setting: &'static str) -> impl Fn(PemError) -> TlsError {
    move |problem| TlsError::File { setting, problem }
}

fn named<'a>(path: Option<&'a Path>, setting: &'static str) -> Result<&'a Path, TlsError> {
    path.ok_or(TlsError::Missing(setting))
}

impl Validate for TlsConfig {
    /// Reads the files: one that is wrong is told at the start, and not by the first caller.
    fn validate(&self, checks: &mut Checks<'_>) {
        if *self == Self::OFF {
            return;
        }
        if let Err(error) = self.server(&[]) {
            checks.invalid(error.setting(), error.rule());
        }
    }
}
