//! The digest of a request.

/// The first 16 bytes of SHA-256 over a request's canonical bytes: tells a retry from another request under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestDigest(pub [u8; 16]);
