//! TLS over ring, with the certificates that the system trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::error::ModelsError;

/// The protocols offered to a server, the preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The certificates to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of the system; what cannot be read of them is passed over.
    System,
    /// None: no server is spoken to over TLS, so that reading them would be in vain.
    Nobody,
}

pub(crate) fn config(trust: Trust) -> Result<ClientConfig, ModelsError> {
    let mut roots = RootCertStore::empty();
    if trust == Trust::System {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let versions = builder
        .with_safe_default_protocol_versions()
        .map_err(|_| ModelsError::Tls)?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
