//! Certificates and keys in PEM files.

use std::fs;
use std::io;
use std::path::Path;

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::{Error as Mistake, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file does not hold what it was named for.
#[derive(Debug, thiserror::Error)]
pub enum PemError {
    /// It is not there, or not for this process.
    #[error("{path} cannot be read: {kind}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        kind: io::ErrorKind,
    },
    /// It can be read, and holds something else.
    #[error("{path} holds no {what} in PEM form")]
    Other {
        /// The file.
        path: String,
        /// What was looked for.
        what: &'static str,
    },
}

/// What a file of CAs must hold.
pub(super) const CA: &str = "certificate that can be trusted";

/// The certificates of a file, in its order; at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let pem = read(path)?;
    let all = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, Mistake>>();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) | Err(_) => Err(other(path, "certificate")),
    }
}

/// The private key of a file: PKCS #8, PKCS #1 or SEC 1.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, PemError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| other(path, "private key"))
}

/// The certificates of a file, as those that are trusted.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, PemError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|_| other(path, CA))?;
    }
    Ok(roots)
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    fs::read(path).map_err(|error| PemError::Unreadable {
        path: path.display().to_string(),
        kind: error.kind(),
    })
}

fn other(path: &Path, what: &'static str) -> PemError {
    PemError::Other {
        path: path.display().to_string(),
        what,
    }
}
