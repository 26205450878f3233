//! A CA of the test's own, and what it signs, as files.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;

/// What every certificate is for.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// A CA.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        let issuer = Issuer::new(params, key);
        Self { folder, issuer }
    }

    /// Whom to trust.
    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A new certificate, for servers and callers; it takes the place of one of the same name.
    pub(crate) fn sign(&self, name: &str) -> Identity {
        let file = |kind: &str| self.folder.path().join(format!("{name}-{kind}.pem"));
        let identity = Identity {
            cert: file("cert"),
            key: file("key"),
        };
        self.sign_into(name, &identity);
        identity
    }

    /// The same into files of somebody else's.
    pub(crate) fn sign_into(&self, name: &str, files: &Identity) {
        let mut params = CertificateParams::new(HOSTS.map(str::to_owned)).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(&files.cert, certificate.pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
    }
}

/// The part of a URL that names a CA.
pub(crate) fn trusting(ca: &Path) -> String {
    format!("?ca={}", ca.display())
}

/// The part of a URL that names a CA, and what to show.
pub(crate) fn showing(ca: &Path, own: &Identity) -> String {
    let (cert, key) = (own.cert.display(), own.key.display());
    format!("{}&cert={cert}&key={key}", trusting(ca))
}
