use ::identity::{Key, TokenRules, UserScope, verify_user};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentId, SigningKeyId, TenantId, Timestamp};
use ring::hmac;

use super::*;

const SECRET: [u8; 32] = [7; 32];

fn verified(user: &str) -> VerifiedUser {
    let claims = format!(r#"{{"sub":"{user}","exp":1000}}"#);
    let parts = [r#"{"alg":"HS256"}"#, &claims].map(|part| URL_SAFE_NO_PAD.encode(part));
    let message = parts.join(".");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &SECRET), message.as_bytes());
    let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
    let key = Key::hs256(&SigningKeyId::parse("a").unwrap(), &SECRET).unwrap();
    let scope = UserScope {
        tenant: &TenantId::parse("acme").unwrap(),
        agent: &AgentId::parse("support").unwrap(),
        rules: &TokenRules::default(),
    };
    verify_user(&token, &[key], scope, Timestamp(0)).unwrap()
}

/// A session, a user id and the user of a token; empty: none.
type Case = (&'static str, &'static str, &'static str);

fn claimed((session, user, token): Case) -> Claims {
    Claims {
        session: SessionId::parse(session).ok(),
        user: UserId::parse(user).ok(),
        verified: (!token.is_empty()).then(|| verified(token)),
    }
}

type Expected = Result<Identity, Refusal>;

fn owned_by(owner: Owner) -> Identity {
    Identity { owner, verified: false }
}

/// All combinations of claims, under every rule, and for a listing by user.
#[test]
fn every_combination_of_claims() {
    use Refusal::{SessionMissing, TokenRequired, UserMismatch};
    let check = |case: Case, expected: [Expected; 4]| {
        let [issued, trust, signed, lister] = expected;
        for (rule, expected) in [
            (IdentityRule::Issued, issued),
            (IdentityRule::Trust, trust.clone()),
            (IdentityRule::Open, trust),
            (IdentityRule::Signed, signed),
        ] {
            assert_eq!(identify(rule, claimed(case)), expected, "{rule:?} {case:?}");
        }
        assert_eq!(identify_lister(claimed(case)), lister, "{case:?}");
    };
    let session = || Ok(owned_by(Owner::Session(SessionId::parse("s").unwrap())));
    let named = || Ok(owned_by(Owner::User(UserId::parse("ada").unwrap())));
    let proven = || named().map(|named| Identity { verified: true, ..named });
    let none = || Err(SessionMissing);
    let unproven = || Err(TokenRequired);
    let other = || Err(UserMismatch);
    // Columns: issued, trust and open, signed, listing by user.
    check(("", "", ""), [none(), none(), none(), unproven()]);
    check(("s", "", ""), [session(), session(), session(), unproven()]);
    check(("", "ada", ""), [none(), named(), unproven(), unproven()]);
    check(("s", "ada", ""), [session(), named(), unproven(), unproven()]);
    check(("", "", "ada"), [none(), proven(), proven(), proven()]);
    check(("s", "", "ada"), [session(), proven(), proven(), proven()]);
    check(("", "ada", "ada"), [none(), proven(), proven(), proven()]);
    check(("s", "ada", "ada"), [session(), proven(), proven(), proven()]);
    check(("", "eve", "ada"), [none(), other(), other(), other()]);
    check(("s", "eve", "ada"), [session(), other(), other(), other()]);
}

#[test]
fn rules_of_agents() {
    let check = |mode: Option<i32>, expected: IdentityRule| {
        let settings = mode.map(|identity_mode| AgentSettings { identity_mode, ..AgentSettings::default() });
        let agent = Agent { settings, ..Agent::default() };
        assert_eq!(IdentityRule::of(&agent), expected, "{mode:?}");
    };
    check(None, IdentityRule::Issued);
    check(Some(0), IdentityRule::Issued);
    check(Some(1), IdentityRule::Issued);
    check(Some(2), IdentityRule::Trust);
    check(Some(3), IdentityRule::Signed);
    check(Some(4), IdentityRule::Issued);
    check(Some(5), IdentityRule::Open);
    check(Some(6), IdentityRule::Issued);
}
