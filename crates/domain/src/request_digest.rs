//! The digest of a request.

/// The first 16 bytes of SHA-256 over a request's canonical bytes. A retry has the same digest; another request with the
/// same key has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestDigest(pub [u8; 16]);
