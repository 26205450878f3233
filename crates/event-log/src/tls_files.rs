//! The files that servers' URLs name for TLS: whom to trust, and what to show.

use std::fs;
use std::path::{Path, PathBuf};

use async_nats::rustls::pki_types::pem::PemObject;
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use async_nats::{ConnectOptions, ServerAddr};

/// Files in PEM form.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The CAs that are trusted in place of the system's.
    ca: Option<PathBuf>,
    /// A certificate and its key, for servers that ask for one.
    identity: Option<(PathBuf, PathBuf)>,
}

impl TlsFiles {
    /// Adds the files that a server's URL names: `?ca=FILE`, `?cert=FILE&key=FILE`. Those that are known already stay.
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

    /// A connection that trusts and shows them; it is one of TLS where there is any.
    pub(crate) fn apply(&self, mut options: ConnectOptions) -> ConnectOptions {
        if let Some(ca) = &self.ca {
            options = options.add_root_certificates(ca.clone()).require_tls(true);
        }
        if let Some((cert, key)) = &self.identity {
            options = options
                .add_client_certificate(cert.clone(), key.clone())
                .require_tls(true);
        }
        options
    }

    /// What is wrong with a file, to read on after `nats_url`; `None`: all can be used.
    pub(crate) fn mistake(&self) -> Option<String> {
        let identity = self.identity.as_ref();
        let cert = identity.map(|(cert, _)| cert);
        let key = identity.map(|(_, key)| key);
        let is_certificate = |pem: Vec<u8>| CertificateDer::from_pem_slice(&pem).is_ok();
        let is_key = |pem: Vec<u8>| PrivateKeyDer::from_pem_slice(&pem).is_ok();
        let certificates = self.ca.as_ref().into_iter().chain(cert);
        let mut certificates =
            certificates.map(|path| wrong(path, read(path).map(is_certificate), "certificate"));
        let keys = key.map(|path| wrong(path, read(path).map(is_key), "private key"));
        certificates.find_map(|mistake| mistake).or(keys.flatten())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| error.kind().to_string())
}

fn wrong(path: &Path, holds: Result<bool, String>, what: &str) -> Option<String> {
    let path = path.display();
    match holds {
        Ok(true) => None,
        Ok(false) => Some(format!("names {path}, which holds no {what} in PEM form")),
        Err(why) => Some(format!("names {path}, which cannot be read: {why}")),
    }
}
