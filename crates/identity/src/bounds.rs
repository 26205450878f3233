//! The bounds of tokens and keys.

use std::ops::RangeInclusive;

/// Maximum bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// Maximum number of keys that are tried for one token.
pub const KEYS_TRIED_MAX: usize = 16;
/// Bytes of an HS256 secret: at least those of the hash (RFC 7518, 3.2).
pub const HS256_SECRET_BYTES: RangeInclusive<usize> = 32..=1_024;
/// Maximum bytes of a JWK set.
pub const JWKS_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of keys of a JWK set, including unusable ones.
pub const JWKS_KEYS_MAX: usize = 64;
/// Bytes of an RSA modulus: 2,048 (RFC 7518, 3.3) to 8,192 bits.
pub const RSA_MODULUS_BYTES: RangeInclusive<usize> = 256..=1_024;
