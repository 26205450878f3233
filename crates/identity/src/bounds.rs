//! The bounds of tokens and keys.

use std::ops::RangeInclusive;

/// Most bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 8 * 1024;
/// Most keys that are tried on one token.
pub const KEYS_TRIED_MAX: usize = 16;
/// Bytes of a secret of HS256: as many as its hash at least (RFC 7518, 3.2).
pub const HS256_SECRET_BYTES: RangeInclusive<usize> = 32..=1_024;
/// Most bytes of a JWK set.
pub const JWKS_BYTES_MAX: usize = 64 * 1024;
/// Most keys of a JWK set, unusable ones among them.
pub const JWKS_KEYS_MAX: usize = 64;
/// Bytes of an RSA key's modulus: 2,048 (RFC 7518, 3.3) to 8,192 bits.
pub const RSA_MODULUS_BYTES: RangeInclusive<usize> = 256..=1_024;
