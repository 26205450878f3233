//! A CA of the test's own, and what it signs, as files.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// What every certificate is for.
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

    /// The file of its own certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A new certificate, for servers and callers; it replaces one of the same name.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn sign(&self, name: &str) -> Identity {
        let file = |kind: &str| self.folder.path().join(format!("{name}-{kind}.pem"));
        let identity = Identity {
            cert: file("cert"),
            key: file("key"),
        };
        self.sign_into(name, &identity);
        identity
    }

    /// Lines for the configuration of a nats-server: it shows a certificate, and asks for one.
    #[must_use]
    pub fn nats_lines(&self) -> String {
        let (Identity { cert, key }, ca) = (self.sign("nats"), self.ca());
        let (cert, key, ca) = (cert.display(), key.display(), ca.display());
        format!(
            "tls {{\n cert_file: \"{cert}\"\n key_file: \"{key}\"\n ca_file: \"{ca}\"\n verify: true\n}}\n"
        )
    }

    /// A certificate as [`Authority::sign`] makes it, into these files.
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

/// The part of a URL that names a CA.
#[must_use]
pub fn trusting(ca: &Path) -> String {
    format!("?ca={}", ca.display())
}

/// The part of a URL that names a CA, and what to show.
#[must_use]
pub fn showing(ca: &Path, own: &Identity) -> String {
    let (cert, key) = (own.cert.display(), own.key.display());
    format!("{}&cert={cert}&key={key}", trusting(ca))
}
