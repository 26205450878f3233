//! Issued sessions: validity, scope and expiry.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentId, TenantId, Timestamp};
use identity::{
    ISSUED_OWNER_PREFIX, IssuedSession, SESSION_LIFETIME, SESSION_TOKEN_PREFIX, SessionError, SessionIssuer,
};

const KEY: [u8; 32] = [7; 32];
const RANDOM: [u8; 16] = [9; 16];
/// Three lifetimes.
const AGE_MAX: Duration = Duration::from_hours(90 * 24);
const SECOND: i64 = 1_000_000_000;
/// A whole second.
const NOW: Timestamp = Timestamp(1_700_000_000 * SECOND);

type Verified = Result<IssuedSession, SessionError>;

/// Issues a token with this key, tenant and agent, and verifies it with those of [`verify`].
fn verified((key, tenant, agent): ([u8; 32], &str, &str)) -> Verified {
    let session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    let (tenant, agent) = ids(tenant, agent);
    let token = SessionIssuer::new(&key, &tenant, &agent).token(&session);
    verify(&token, NOW)
}

fn verify(token: &str, now: Timestamp) -> Verified {
    let (tenant, agent) = ids("acme", "support");
    SessionIssuer::new(&KEY, &tenant, &agent).verify(token, now, AGE_MAX)
}

fn token() -> String {
    let (tenant, agent) = ids("acme", "support");
    SessionIssuer::new(&KEY, &tenant, &agent).token(&IssuedSession::new(RANDOM, NOW, AGE_MAX))
}

fn ids(tenant: &str, agent: &str) -> (TenantId, AgentId) {
    let tenant = TenantId::parse(tenant).unwrap();
    (tenant, AgentId::parse(agent).unwrap())
}

fn after(seconds: i64) -> Timestamp {
    Timestamp(NOW.0 + seconds * SECOND)
}

fn lifetime_s() -> i64 {
    i64::try_from(SESSION_LIFETIME.as_secs()).unwrap()
}

#[test]
fn a_session_requires_its_key_tenant_and_agent() {
    let session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    assert_eq!(verified((KEY, "acme", "support")), Ok(session));
    for other in [
        ([8; 32], "acme", "support"),
        (KEY, "globex", "support"),
        (KEY, "acme", "sales"),
        // The same concatenation.
        (KEY, "acmes", "upport"),
    ] {
        assert_eq!(verified(other), Err(SessionError::NotIssued), "{other:?}");
    }
}

#[test]
fn no_bit_of_a_token_can_be_changed() {
    let token = token();
    let text = token.strip_prefix(SESSION_TOKEN_PREFIX).unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
    assert_eq!(bytes.len(), 64);
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = URL_SAFE_NO_PAD.encode(changed);
        let changed = format!("{SESSION_TOKEN_PREFIX}{changed}");
        assert_eq!(verify(&changed, NOW), Err(SessionError::NotIssued), "{bit}");
    }
    // And no bit of its text.
    for bit in 0..token.len() * 7 {
        let mut changed = token.clone().into_bytes();
        changed[bit / 7] ^= 1 << (bit % 7);
        let changed = String::from_utf8(changed).unwrap();
        assert_eq!(verify(&changed, NOW), Err(SessionError::NotIssued), "{bit}");
    }
}

#[test]
fn a_token_has_one_form() {
    let token = token();
    for other in [
        String::new(),
        SESSION_TOKEN_PREFIX.to_owned(),
        token[SESSION_TOKEN_PREFIX.len()..].to_owned(),
        format!("{token}A"),
        format!("{token}AA"),
        format!("{token}="),
        format!(" {token}"),
        token[..token.len() - 1].to_owned(),
        format!("{SESSION_TOKEN_PREFIX}{}", "A".repeat(1 << 20)),
        "s".to_owned(),
    ] {
        let start = &other[..other.len().min(90)];
        assert_eq!(verify(&other, NOW), Err(SessionError::NotIssued), "{start}");
    }
}

#[test]
fn a_session_ends_at_its_expiry() {
    let check = |at: Timestamp, expected: Result<(), SessionError>| {
        assert_eq!(verify(&token(), at).map(|_| ()), expected, "{at:?}");
    };
    check(after(0), Ok(()));
    check(after(-3_600), Ok(()));
    check(Timestamp(after(lifetime_s()).0 - 1), Ok(()));
    check(after(lifetime_s()), Err(SessionError::Expired));
    check(after(10 * lifetime_s()), Err(SessionError::Expired));
}

#[test]
fn a_session_is_renewed_after_half_of_its_lifetime() {
    let session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    let half = lifetime_s() / 2;
    let renew = |at| session.renewed(after(at), AGE_MAX);
    assert_eq!(renew(0), None);
    assert_eq!(renew(half), None);
    let renewed = renew(half + 1).unwrap();
    assert_eq!(renewed.expires_at(), after(half + 1 + lifetime_s()));
    let (tenant, agent) = ids("acme", "support");
    let issuer = SessionIssuer::new(&KEY, &tenant, &agent);
    assert_ne!(issuer.token(&renewed), issuer.token(&session));
    assert_eq!(issuer.owner(&renewed), issuer.owner(&session));
}

#[test]
fn a_session_that_is_used_ends_at_its_greatest_age() {
    let (tenant, agent) = ids("acme", "support");
    let issuer = SessionIssuer::new(&KEY, &tenant, &agent);
    let age_max_s = i64::try_from(AGE_MAX.as_secs()).unwrap();
    let mut session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    // Used every day.
    for day in 1..90 {
        let now = after(day * 86_400);
        session = issuer.verify(&issuer.token(&session), now, AGE_MAX).unwrap();
        session = session.renewed(now, AGE_MAX).unwrap_or(session);
    }
    assert_eq!(session.expires_at(), after(age_max_s));
    assert_eq!(session.renewed(after(age_max_s - 1), AGE_MAX), None);
    let token = issuer.token(&session);
    let check = |at: Timestamp, age_max, expected: Result<(), SessionError>| {
        let verified = issuer.verify(&token, at, age_max).map(|_| ());
        assert_eq!(verified, expected, "{at:?} {age_max:?}");
    };
    check(Timestamp(after(age_max_s).0 - 1), AGE_MAX, Ok(()));
    check(after(age_max_s), AGE_MAX, Err(SessionError::Expired));
    // The current bound applies, not the one of the issue.
    check(after(age_max_s), AGE_MAX * 2, Err(SessionError::Expired));
    let half = AGE_MAX / 2;
    check(Timestamp(after(age_max_s / 2).0 - 1), half, Ok(()));
    check(after(age_max_s / 2), half, Err(SessionError::Expired));
    let short = IssuedSession::new(RANDOM, NOW, Duration::from_mins(1));
    assert_eq!(short.expires_at(), after(60));
}

#[test]
fn an_owner_does_not_reveal_its_session() {
    let (tenant, agent) = ids("acme", "support");
    let issuer = SessionIssuer::new(&KEY, &tenant, &agent);
    let owner = |random: [u8; 16]| issuer.owner(&IssuedSession::new(random, NOW, AGE_MAX)).unwrap();
    let one = owner(RANDOM);
    assert_eq!(one, owner(RANDOM));
    assert_ne!(one, owner([10; 16]));
    let shown = URL_SAFE_NO_PAD.decode(one.as_str().strip_prefix(ISSUED_OWNER_PREFIX).unwrap()).unwrap();
    assert_eq!(shown.len(), 16);
    // No part of the token.
    let token = URL_SAFE_NO_PAD.decode(&token()[SESSION_TOKEN_PREFIX.len()..]).unwrap();
    let is_in_owner = |part: &[u8]| shown.windows(8).any(|other| other == part);
    assert!(!token.windows(8).any(is_in_owner));
    // An owner is not a session token.
    assert_eq!(verify(one.as_str(), NOW), Err(SessionError::NotIssued));
    let other_key = SessionIssuer::new(&[8; 32], &tenant, &agent);
    let session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    assert_ne!(other_key.owner(&session), Some(one));
}

#[test]
fn debug_hides_a_session() {
    let session = IssuedSession::new(RANDOM, NOW, AGE_MAX);
    assert_eq!(format!("{session:?}"), "IssuedSession(until 1702592000)");
    let (tenant, agent) = ids("acme", "support");
    let issuer = SessionIssuer::new(&KEY, &tenant, &agent);
    assert_eq!(format!("{issuer:?}"), "SessionIssuer(acme, support)");
}
