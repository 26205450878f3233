//! The bounds by their numbers: the tests at their edges use the constants.

use identity::{
    DASHBOARD_ENDORSEMENT_LIFETIME, DASHBOARD_IDLE_MAX, DASHBOARD_LINK_LIFETIME, DASHBOARD_SESSION_AGE_MAX,
    HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, KEYS_TRIED_MAX, LEEWAY, LIFETIME_MAX_DEFAULT, RSA_MODULUS_BYTES,
    SESSION_LIFETIME, SESSION_RANDOM_BYTES, TOKEN_BYTES_MAX,
};

#[test]
fn bounds_are_these_numbers() {
    for (name, bound, expected) in [
        ("TOKEN_BYTES_MAX", TOKEN_BYTES_MAX, 8_192),
        ("KEYS_TRIED_MAX", KEYS_TRIED_MAX, 16),
        ("JWKS_BYTES_MAX", JWKS_BYTES_MAX, 65_536),
        ("JWKS_KEYS_MAX", JWKS_KEYS_MAX, 64),
        ("SESSION_RANDOM_BYTES", SESSION_RANDOM_BYTES, 16),
    ] {
        assert_eq!(bound, expected, "{name}");
    }
    assert_eq!((HS256_SECRET_BYTES, RSA_MODULUS_BYTES), (32..=1_024, 256..=1_024));
    for (name, lifetime, seconds) in [
        ("LEEWAY", LEEWAY, 30),
        ("LIFETIME_MAX_DEFAULT", LIFETIME_MAX_DEFAULT, 86_400),
        ("SESSION_LIFETIME", SESSION_LIFETIME, 2_592_000),
        ("DASHBOARD_SESSION_AGE_MAX", DASHBOARD_SESSION_AGE_MAX, 43_200),
        ("DASHBOARD_IDLE_MAX", DASHBOARD_IDLE_MAX, 3_600),
        ("DASHBOARD_LINK_LIFETIME", DASHBOARD_LINK_LIFETIME, 600),
        ("DASHBOARD_ENDORSEMENT_LIFETIME", DASHBOARD_ENDORSEMENT_LIFETIME, 43_800),
    ] {
        assert_eq!(lifetime.as_secs(), seconds, "{name}");
    }
}
