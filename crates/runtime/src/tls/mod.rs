//! TLS of the doors and of calls through them: certificates and keys from PEM files, checked when they are named.
//!
//! One library (rustls) and one provider (ring) for everything. A door without files is a plain one.

mod acceptor;
mod config;
mod endpoint;
mod pem;
mod problem;

pub(crate) use acceptor::{Acceptor, Handshake};
pub use acceptor::{HANDSHAKE_TIMEOUT, RELOAD_INTERVAL};
pub use config::{TlsConfig, TlsError};
pub use endpoint::{EndpointError, endpoint};
pub use pem::PemError;
pub use problem::problem;
