//! Certificates and keys in PEM files.

use std::fs;
use std::io;
use std::path::Path;

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A PEM file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PemError {
    /// The file does not exist, or this process may not read it.
    #[error("{path} cannot be read: {kind}")]
    Unreadable {
        /// The file.
        path: String,
        /// The error of the system.
        kind: io::ErrorKind,
    },
    /// The file has other content.
    #[error("{path} has no {expected} in PEM format")]
    WrongContent {
        /// The file.
        path: String,
        /// The expected content.
        expected: &'static str,
    },
}

/// The expected content of a CA file.
pub(super) const CA: &str = "CA certificate";

/// The certificates of a file, in its order; at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let pem = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(wrong_content(path, "certificate")),
    }
}

/// The private key of a file: PKCS #8, PKCS #1 or SEC 1.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, PemError> {
    let pem = read(path)?;
    PrivateKeyDer::from_pem_slice(&pem).map_err(|_| wrong_content(path, "private key"))
}

/// The certificates of a file, as trusted roots.
pub(super) fn roots(path: &Path) -> Result<RootCertStore, PemError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|_| wrong_content(path, CA))?;
    }
    Ok(roots)
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    fs::read(path).map_err(|error| PemError::Unreadable { path: path.display().to_string(), kind: error.kind() })
}

pub(super) fn wrong_content(path: &Path, expected: &'static str) -> PemError {
    PemError::WrongContent { path: path.display().to_string(), expected }
}
