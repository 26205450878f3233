//! The TLS files of a listener.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;

use super::pem::{CA, PemError, certificates, key, roots, wrong_content};
use crate::config::{Checks, Validate};

/// The TLS files of a listener, in PEM format. Without files, connections are plain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsConfig {
    /// PEM file with the server certificate, followed by the intermediate certificates.
    pub cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate: PKCS #8, PKCS #1 or SEC 1.
    pub key: Option<PathBuf>,
    /// PEM file with the CAs of client certificates. With it, clients without a certificate of these CAs are rejected.
    pub client_ca: Option<PathBuf>,
}

/// The TLS files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A required file is not configured.
    #[error("tls.{0} is missing: set it to a file, or remove the other files")]
    Missing(&'static str),
    /// A file has the wrong content.
    #[error("tls.{setting}: {problem}")]
    File {
        /// The setting in [`TlsConfig`].
        setting: &'static str,
        /// The error of the file.
        problem: PemError,
    },
    /// The key does not match the certificate, or the certificate is not a server certificate.
    #[error("tls.cert and tls.key cannot be used together: {0}")]
    Mismatch(String),
}

impl TlsError {
    /// The setting to correct, and the message that follows its name.
    fn correction(&self) -> (&'static str, String) {
        let missing = "is missing: set it to a file, or remove the other files";
        match self {
            Self::Missing(setting) => (setting, missing.to_owned()),
            Self::File { setting, problem } => (setting, format!("cannot be used: {problem}")),
            Self::Mismatch(reason) => ("cert", format!("does not match `key`: {reason}")),
        }
    }
}

impl TlsConfig {
    /// Plain connections.
    pub const OFF: Self = Self { cert: None, key: None, client_ca: None };

    pub(super) fn server(&self, protocols: &[&[u8]]) -> Result<ServerConfig, TlsError> {
        let mismatch = |error| TlsError::Mismatch(format!("{error}"));
        let chain = self.cert.as_deref().ok_or(TlsError::Missing("cert"))?;
        let private = self.key.as_deref().ok_or(TlsError::Missing("key"))?;
        let chain = certificates(chain).map_err(error_of("cert"))?;
        let private = key(private).map_err(error_of("key"))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(mismatch)?;
        let builder = match self.client_ca.as_deref() {
            None => builder.with_no_client_auth(),
            Some(path) => builder.with_client_cert_verifier(client_verifier(path)?),
        };
        let mut server = builder.with_single_cert(chain, private).map_err(mismatch)?;
        server.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Ok(server)
    }

    pub(super) fn paths(&self) -> [Option<&Path>; 3] {
        [&self.cert, &self.key, &self.client_ca].map(Option::as_deref)
    }
}

/// Accepts only clients with a certificate of these CAs.
fn client_verifier(ca: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let roots = Arc::new(roots(ca).map_err(error_of("client_ca"))?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
    let unusable = |_| wrong_content(ca, CA);
    verifier.map_err(unusable).map_err(error_of("client_ca"))
}

fn error_of(setting: &'static str) -> impl Fn(PemError) -> TlsError {
    move |problem| TlsError::File { setting, problem }
}

impl Validate for TlsConfig {
    /// Reads the files, so that an error is reported at the start and not at the first connection.
    fn validate(&self, checks: &mut Checks<'_>) {
        if *self == Self::OFF {
            return;
        }
        if let Err(error) = self.server(&[]) {
            let (setting, message) = error.correction();
            checks.invalid(setting, message);
        }
    }
}
