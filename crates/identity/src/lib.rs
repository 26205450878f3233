//! Verifies tokens of users and administrators, and issues and verifies sessions of frontends and of the dashboard.
//!
//! Pure: keys and the time are arguments; nothing is fetched or stored. Keys come from the registry and from its JWK sets. The
//! caller grants access by the verified identity. Errors and `Debug` never contain tokens or their content.
//!
//! Source: RFC 7519 (JWT), RFC 7515 (JWS), RFC 7517 (JWK), RFC 8725 (best current practices).

mod admin;
mod bounds;
mod claims;
mod dashboard;
mod error;
mod id_token;
mod key;
mod ring_backend;
mod role;
mod rules;
mod session;
mod tenant_scope;
mod token;
mod user;

pub use admin::{ADMIN_ROLE, VerifiedAdmin, claimed_expiry, claimed_tenant, verify_admin};
pub use bounds::{
    HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, KEYS_TRIED_MAX, RSA_MODULUS_BYTES, TOKEN_BYTES_MAX,
};
pub use claims::{AUDIENCE, LEEWAY};
pub use dashboard::{
    DASHBOARD_ENDORSEMENT_LIFETIME, DASHBOARD_IDLE_MAX, DASHBOARD_LINK_LIFETIME, DASHBOARD_RANDOM_BYTES,
    DASHBOARD_SESSION_AGE_MAX, DashboardKey, DashboardUse, NewPerson, VerifiedPerson, dashboard_tenant,
};
pub use error::{KeyError, TokenError};
pub use id_token::{IdTokenClaims, IdTokenRules, verify_id_token};
pub use key::{Key, jwk_set};
pub use role::Role;
pub use rules::{LIFETIME_MAX_DEFAULT, RevocationDigest, TokenRules, session_digest, token_digest, token_id_digest};
pub use session::{
    ISSUED_OWNER_PREFIX, IssuedSession, SESSION_LIFETIME, SESSION_RANDOM_BYTES, SESSION_TOKEN_PREFIX, SessionError,
    SessionIssuer,
};
pub use tenant_scope::TenantScope;
pub use user::{UserScope, VerifiedUser, verify_user};
