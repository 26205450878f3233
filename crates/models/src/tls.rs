//! TLS with `ring`, and the certificates that the system trusts.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::error::ModelsError;

/// The offered protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of the system. Invalid ones are ignored.
    System,
    /// None, because no connection uses TLS.
    None,
}

pub(crate) fn config(trust: Trust) -> Result<ClientConfig, ModelsError> {
    let mut roots = RootCertStore::empty();
    if trust == Trust::System {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let versions = builder.with_safe_default_protocol_versions().map_err(|_| ModelsError::Tls)?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}
