//! TLS of listeners and clients: certificates and keys from PEM files, checked at the start.
//!
//! It uses rustls with the provider ring. A listener without files is plain.

mod acceptor;
mod cause;
mod config;
mod endpoint;
mod pem;

pub(crate) use acceptor::{Acceptor, Handshake};
pub use acceptor::{HANDSHAKE_TIMEOUT, RELOAD_INTERVAL};
pub use cause::cause;
pub use config::{TlsConfig, TlsError};
pub use endpoint::{ENDPOINTS_MAX, EndpointError, endpoint, endpoints};
pub use pem::PemError;
