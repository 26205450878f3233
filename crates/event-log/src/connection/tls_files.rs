//! The TLS files that servers' URLs name: trusted CAs and the client certificate.

use std::fs;
use std::path::{Path, PathBuf};

use async_nats::rustls::pki_types::pem::PemObject;
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use async_nats::{ConnectOptions, ServerAddr};

/// Paths of PEM files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The CAs that are trusted in place of the system's.
    ca: Option<PathBuf>,
    /// The client certificate and its key.
    identity: Option<(PathBuf, PathBuf)>,
}

impl TlsFiles {
    /// Adds the files of a server's URL: `?ca=FILE`, `?cert=FILE&key=FILE`. Files of earlier URLs stay.
    pub(crate) fn add(&mut self, server: &ServerAddr) -> Result<(), ()> {
        let (mut ca, mut cert, mut key) = (None, None, None);
        let url = server.clone().into_inner();
        for (name, value) in url.query_pairs() {
            let file = match &*name {
                "ca" => &mut ca,
                "cert" => &mut cert,
                "key" => &mut key,
                _ => return Err(()),
            };
            *file = Some(PathBuf::from(&*value));
        }
        let identity = match (cert, key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err(()),
        };
        self.ca = self.ca.take().or(ca);
        self.identity = self.identity.take().or(identity);
        Ok(())
    }

    /// Adds the files to connection options; any file makes TLS required.
    pub(crate) fn apply(&self, mut options: ConnectOptions) -> ConnectOptions {
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        if let Some((cert, key)) = &self.identity {
            options = options.add_client_certificate(cert.clone(), key.clone()).require_tls(true);
        }
        options
    }

    /// The first problem with a file, as the rest of a sentence after `nats_url`; `None`: all files are valid.
    pub(crate) fn error(&self) -> Option<String> {
        let identity = self.identity.as_ref();
        let cert = identity.map(|(cert, _)| cert);
        let key = identity.map(|(_, key)| key);
        let is_certificate = |pem: Vec<u8>| CertificateDer::from_pem_slice(&pem).is_ok();
        let is_key = |pem: Vec<u8>| PrivateKeyDer::from_pem_slice(&pem).is_ok();
        let mut certificates = self
            .ca
            .as_ref()
            .into_iter()
            .chain(cert)
            .map(|path| problem(path, read(path).map(is_certificate), "certificate"));
        let keys = key.map(|path| problem(path, read(path).map(is_key), "private key"));
        certificates.find_map(|error| error).or(keys.flatten())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| error.kind().to_string())
}

fn problem(path: &Path, is_valid: Result<bool, String>, what: &str) -> Option<String> {
    let path = path.display();
    match is_valid {
        Ok(true) => None,
        Ok(false) => Some(format!("names {path}, which is not a {what} in PEM format")),
        Err(why) => Some(format!("names {path}, which cannot be read: {why}")),
    }
}
