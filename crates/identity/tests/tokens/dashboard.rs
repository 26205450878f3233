//! Links and sessions of the dashboard.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::{Label, Timestamp};
use identity::{
    DASHBOARD_ENDORSEMENT_LIFETIME, DASHBOARD_IDLE_MAX, DASHBOARD_LINK_LIFETIME, DASHBOARD_RANDOM_BYTES,
    DASHBOARD_SESSION_AGE_MAX, DashboardKey, DashboardUse, NewPerson, Role, TenantScope, TokenError, VerifiedPerson,
    dashboard_tenant, token_id_digest,
};

use crate::signer::{NOW, SECRET, tenant};

fn person(role: Role) -> NewPerson {
    let subject = Label::parse("ada").unwrap();
    NewPerson { tenant: tenant("acme"), subject, role, tenant_scope: TenantScope::All, endorsement: None }
}

fn issued(token_use: DashboardUse) -> (DashboardKey, VerifiedPerson, String) {
    let key = DashboardKey::new(SECRET);
    let random = [1; DASHBOARD_RANDOM_BYTES];
    let issued = key.issue(token_use, person(Role::Support), random, NOW);
    let token = key.sign(token_use, &issued);
    (key, issued, token)
}

fn after(start: Timestamp, time: Duration) -> Timestamp {
    Timestamp(start.0 + i64::try_from(time.as_nanos()).unwrap())
}

fn verify(
    key: &DashboardKey,
    token_use: DashboardUse,
    token: &str,
    now: Timestamp,
) -> Result<VerifiedPerson, TokenError> {
    key.verify(token, token_use, &tenant("acme"), Arc::default(), now)
}

#[test]
fn a_token_names_its_person_for_its_use_alone() {
    let (link, session) = (DashboardUse::Link, DashboardUse::Session);
    for (token_use, other, expected) in
        [(link, session, TokenError::WrongAudience), (session, link, TokenError::TooLongLived)]
    {
        let (key, person, token) = issued(token_use);
        assert_eq!(verify(&key, token_use, &token, NOW), Ok(person));
        assert_eq!(dashboard_tenant(&token), Ok(tenant("acme")));
        let wrong = verify(&key, other, &token, NOW);
        assert_eq!(wrong, Err(expected));
        let other_key = DashboardKey::new(&[9; 32]);
        let forged = verify(&other_key, token_use, &token, NOW);
        assert_eq!(forged, Err(TokenError::BadSignature));
        let foreign = key.verify(&token, token_use, &tenant("globex"), Arc::default(), NOW);
        assert_eq!(foreign, Err(TokenError::WrongTenant));
        assert!(!format!("{key:?}").contains(&token));
    }
}

#[test]
fn no_bit_of_a_token_can_be_changed() {
    let (key, person, token) = issued(DashboardUse::Session);
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        let outcome = verify(&key, DashboardUse::Session, &changed, NOW);
        // The last digit of base64 has bits that are not part of the signature.
        assert!(outcome.is_err() || outcome == Ok(person.clone()), "{at}");
    }
}

#[test]
fn a_revoked_token_has_ended() {
    let (key, person, token) = issued(DashboardUse::Session);
    let revoked = Arc::new(HashSet::from([token_id_digest(person.token_id())]));
    let outcome = key.verify(&token, DashboardUse::Session, &tenant("acme"), revoked, NOW);
    assert_eq!(outcome, Err(TokenError::Revoked));
}

#[test]
fn sessions_end_when_idle_and_at_their_greatest_age() {
    let token_use = DashboardUse::Session;
    let (key, mut session, token) = issued(token_use);
    assert_eq!(session.expires_at(), after(NOW, DASHBOARD_IDLE_MAX));
    // The leeway for clocks is 30 s.
    let late = after(NOW, DASHBOARD_IDLE_MAX + Duration::from_secs(30));
    assert_eq!(verify(&key, token_use, &token, late), Err(TokenError::Expired));
    assert_eq!(session.renewed(after(NOW, Duration::from_secs(299))), None);
    let mut now = NOW;
    while let Some(renewed) = session.renewed(after(now, Duration::from_mins(30))) {
        now = after(now, Duration::from_mins(30));
        let token = key.sign(token_use, &renewed);
        assert_eq!(verify(&key, token_use, &token, now), Ok(renewed.clone()));
        assert_eq!(renewed.token_id(), session.token_id());
        session = renewed;
    }
    let end = after(NOW, DASHBOARD_SESSION_AGE_MAX);
    assert_eq!(session.expires_at(), end);
    let token = key.sign(token_use, &session);
    let late = after(end, Duration::from_secs(30));
    assert_eq!(verify(&key, token_use, &token, late), Err(TokenError::Expired));
}

#[test]
fn only_operators_of_all_tenants_move_to_another_one() {
    let key = DashboardKey::new(SECRET);
    let (first, second) = ([1; DASHBOARD_RANDOM_BYTES], [2; DASHBOARD_RANDOM_BYTES]);
    let token_use = DashboardUse::Session;
    for role in Role::ALL {
        for tenant_scope in [TenantScope::One, TenantScope::All] {
            let person = NewPerson { tenant_scope, ..person(role) };
            let issued = key.issue(token_use, person, first, NOW);
            let token = key.sign(token_use, &issued);
            let verified = verify(&key, token_use, &token, NOW).unwrap();
            assert_eq!(verified, issued);
            let moved = verified.in_tenant(&tenant("globex"), second);
            let may_move = role == Role::Operator && tenant_scope == TenantScope::All;
            assert_eq!(moved.is_some(), may_move, "{role:?} {tenant_scope:?}");
            let Some(moved) = moved else { continue };
            assert_eq!(moved.tenant(), &tenant("globex"));
            assert_eq!(moved.expires_at(), issued.expires_at());
            assert_ne!(moved.token_id(), issued.token_id());
            // A switch does not make the session longer.
            let late = after(NOW, DASHBOARD_SESSION_AGE_MAX);
            let renewed = moved.renewed(late).unwrap();
            assert_eq!(renewed.expires_at(), late);
        }
    }
}

#[test]
fn endorsements_are_of_one_person_and_pass_to_sessions() {
    let writers = DashboardKey::new(&[9; 32]);
    let random = [1; DASHBOARD_RANDOM_BYTES];
    let endorsed = writers.issue(DashboardUse::Endorsement, person(Role::Operator), random, NOW);
    let endorsement = writers.sign(DashboardUse::Endorsement, &endorsed);
    let new = NewPerson { endorsement: Some(endorsement.clone()), ..person(Role::Operator) };
    let key = DashboardKey::new(SECRET);
    let link = key.issue(DashboardUse::Link, new, random, NOW);
    let link = verify(&key, DashboardUse::Link, &key.sign(DashboardUse::Link, &link), NOW).unwrap();
    let session = key.issue(DashboardUse::Session, link.to_new(), random, NOW);
    let token = key.sign(DashboardUse::Session, &session);
    let session = verify(&key, DashboardUse::Session, &token, NOW).unwrap();
    assert_eq!(session.endorsement(), Some(endorsement.as_str()));
    let moved = session.in_tenant(&tenant("globex"), random).unwrap();
    assert_eq!(moved.endorsement(), Some(endorsement.as_str()));
    // Valid until the last session of the link has ended, and never as another token.
    let end = after(NOW, DASHBOARD_ENDORSEMENT_LIFETIME);
    assert_eq!(verify(&writers, DashboardUse::Endorsement, &endorsement, end), Ok(endorsed.clone()));
    let late = after(end, Duration::from_secs(30));
    assert_eq!(verify(&writers, DashboardUse::Endorsement, &endorsement, late), Err(TokenError::Expired));
    assert!(verify(&key, DashboardUse::Endorsement, &endorsement, NOW).is_err());
    assert!(verify(&writers, DashboardUse::Session, &endorsement, NOW).is_err());
    assert!(endorsed.endorses(&session) && endorsed.endorses(&moved));
}

#[test]
fn endorsements_cover_no_other_person() {
    let key = DashboardKey::new(SECRET);
    let issue = |name: &str, at: &str, role| {
        let named = NewPerson { tenant: tenant(at), subject: Label::parse(name).unwrap(), ..person(role) };
        key.issue(DashboardUse::Session, named, [1; DASHBOARD_RANDOM_BYTES], NOW)
    };
    let administrator = issue("ada", "acme", Role::Administrator);
    let operator = issue("ada", "acme", Role::Operator);
    for (session, by_administrator, by_operator) in [
        (issue("ada", "acme", Role::Viewer), true, true),
        (issue("ada", "acme", Role::Administrator), true, true),
        (issue("ada", "acme", Role::Operator), false, true),
        (issue("ada", "globex", Role::Administrator), false, true),
        (issue("bob", "acme", Role::Viewer), false, false),
    ] {
        assert_eq!(administrator.endorses(&session), by_administrator, "{session:?}");
        assert_eq!(operator.endorses(&session), by_operator, "{session:?}");
    }
}

#[test]
fn links_expire() {
    let (key, link, token) = issued(DashboardUse::Link);
    assert_eq!(link.expires_at(), after(NOW, DASHBOARD_LINK_LIFETIME));
    let late = after(NOW, DASHBOARD_LINK_LIFETIME + Duration::from_secs(30));
    let outcome = verify(&key, DashboardUse::Link, &token, late);
    assert_eq!(outcome, Err(TokenError::Expired));
}

#[test]
fn form_tokens_are_of_one_session() {
    let (key, session, _) = issued(DashboardUse::Session);
    let other = key.issue(DashboardUse::Session, person(Role::Support), [2; DASHBOARD_RANDOM_BYTES], NOW);
    let token = key.form_token(&session);
    assert!(key.is_form_token(&session, &token));
    assert!(!key.is_form_token(&other, &token));
    for wrong in ["", "a", session.token_id()] {
        assert!(!key.is_form_token(&session, wrong), "{wrong}");
    }
}

#[test]
fn proofs_are_of_one_fact_of_one_session() {
    let (key, session, _) = issued(DashboardUse::Session);
    let random = [2; DASHBOARD_RANDOM_BYTES];
    let other = key.issue(DashboardUse::Session, person(Role::Support), random, NOW);
    let proof = key.proof(&session, "viewed c");
    assert!(key.is_proof(&session, "viewed c", &proof));
    assert!(!key.is_proof(&session, "viewed d", &proof));
    assert!(!key.is_proof(&other, "viewed c", &proof));
    for wrong in ["", "a", &key.form_token(&session)] {
        assert!(!key.is_proof(&session, "viewed c", wrong), "{wrong}");
        assert!(!key.is_proof(&session, "", wrong), "{wrong}");
    }
    assert!(!key.is_form_token(&session, &key.proof(&session, "")));
}

#[test]
fn roles_are_ordered_and_named() {
    assert!(Role::Viewer < Role::Support && Role::Administrator < Role::Operator);
    for role in Role::ALL {
        assert_eq!(Role::parse(role.as_str()), Some(role));
    }
    assert_eq!(Role::parse("root"), None);
}
