//! A certificate authority of the test, and the certificates that it signs, as files.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// The hosts of every certificate.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// A CA.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate's file.
    pub cert: PathBuf,
    /// The key's file.
    pub key: PathBuf,
}

impl Authority {
    /// A new CA.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a certificate");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a certificate");
        let certificate = params.self_signed(&key).expect("a certificate");
        fs::write(folder.path().join("ca.pem"), certificate.pem()).expect("a certificate");
        let issuer = Issuer::new(params, key);
        Self { folder, issuer }
    }

    /// The file of the CA's own certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Signs a new certificate for servers and callers; it replaces one of the same name.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn sign(&self, name: &str) -> Identity {
        let file = |kind: &str| self.folder.path().join(format!("{name}-{kind}.pem"));
        let identity = Identity { cert: file("cert"), key: file("key") };
        self.sign_into(name, &identity);
        identity
    }

    /// Configuration lines of a nats-server with a certificate that requests client certificates.
    #[must_use]
    pub fn nats_lines(&self) -> String {
        let (Identity { cert, key }, ca) = (self.sign("nats"), self.ca());
        let (cert, key, ca) = (cert.display(), key.display(), ca.display());
        format!("tls {{\n cert_file: \"{cert}\"\n key_file: \"{key}\"\n ca_file: \"{ca}\"\n verify: true\n}}\n")
    }

    /// Writes a certificate like that of [`Authority::sign`] into these files.
    ///
    /// # Panics
    /// When they cannot be written.
    pub fn sign_into(&self, name: &str, files: &Identity) {
        let mut params = CertificateParams::new(HOSTS.map(str::to_owned)).expect("a certificate");
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a certificate");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        fs::write(&files.cert, certificate.pem()).expect("a certificate");
        fs::write(&files.key, key.serialize_pem()).expect("a certificate");
    }
}

/// URL parameters with a CA.
#[must_use]
pub fn ca_parameters(ca: &Path) -> String {
    format!("?ca={}", ca.display())
}

/// URL parameters with a CA and a client certificate.
#[must_use]
pub fn client_parameters(ca: &Path, own: &Identity) -> String {
    let (cert, key) = (own.cert.display(), own.key.display());
    format!("{}&cert={cert}&key={key}", ca_parameters(ca))
}
