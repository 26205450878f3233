//! Maps the claims of an ID token to tenants and roles. Pure.

use std::collections::BTreeMap;

use domain::{Label, TenantId};
use identity::{IdTokenClaims, NewPerson, Role, TenantScope};

use super::config::{DEMANDS, EMAIL_VERIFIED, OidcSection};

const EMAIL: &str = "email";
/// Maximum number of tenants of one person; further ones are left out.
const TENANTS_MAX: usize = 64;

/// The person in each tenant that the claims grant, by tenant, with the highest role.
#[must_use]
pub fn people(section: &OidcSection, claims: &IdTokenClaims) -> Vec<NewPerson> {
    let Some(subject) = name(section, claims) else {
        return Vec::new();
    };
    let mut roles: BTreeMap<TenantId, (Role, TenantScope)> = BTreeMap::new();
    for grant in &section.grants {
        let value = |key| grant.get(key).map(String::as_str).unwrap_or_default();
        let is_granted = claims.has(value("claim"), value("value")) && meets_demands(grant, claims);
        let (Ok(tenant), Some(role)) = (TenantId::parse(value("tenant")), Role::parse(value("role"))) else {
            continue;
        };
        if is_granted {
            let (highest, scope) = roles.entry(tenant).or_insert((role, TenantScope::One));
            *highest = role.max(*highest);
            if role == Role::Operator && value("tenants") == TenantScope::All.as_str() {
                *scope = TenantScope::All;
            }
        }
    }
    let people = roles.into_iter().take(TENANTS_MAX);
    people
        .map(|(tenant, (role, tenant_scope))| {
            let subject = subject.clone();
            NewPerson { tenant, role, tenant_scope, subject, endorsement: None }
        })
        .collect()
}

/// Whether the claims meet what a grant demands. Anybody can register an e-mail address at some providers, so a grant to one
/// demands that it is verified.
fn meets_demands(grant: &BTreeMap<String, String>, claims: &IdTokenClaims) -> bool {
    let is_met = |claim: &&str| grant.get(*claim).is_none_or(|value| claims.has(claim, value));
    let is_of_email = grant.get("claim").is_some_and(|claim| claim == EMAIL);
    DEMANDS.iter().all(is_met) && (!is_of_email || claims.has(EMAIL_VERIFIED, "true"))
}

/// The person's name: the configured claim, or `sub`. An e-mail address that the provider calls unverified is no name.
fn name(section: &OidcSection, claims: &IdTokenClaims) -> Option<Label> {
    let is_unverified = section.name_claim == EMAIL && claims.has(EMAIL_VERIFIED, "false");
    let named = claims.text(&section.name_claim).filter(|_| !is_unverified);
    [named, claims.text("sub")].into_iter().flatten().find_map(|name| Label::parse(name).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(claims: &Value, expected: &[(&str, Role, &str)]) {
        let grant = |claim: &str, value: &str, tenant: &str, role: &str| {
            let pairs = [("claim", claim), ("value", value), ("tenant", tenant), ("role", role)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
            BTreeMap::from(pairs)
        };
        let section = OidcSection {
            grants: vec![
                grant("groups", "support", "acme", "support"),
                grant("groups", "admins", "acme", "administrator"),
                grant("groups", "admins", "globex", "viewer"),
                grant("department", "7", "initech", "viewer"),
                grant("is_operator", "true", "acme", "operator"),
            ],
            ..OidcSection::default()
        };
        let claims = IdTokenClaims::of(claims.as_object().unwrap().clone());
        let people = people(&section, &claims);
        let actual: Vec<_> =
            people.iter().map(|person| (person.tenant.as_str(), person.role, person.subject.as_str())).collect();
        assert_eq!(actual, expected, "{claims:?}");
    }

    #[test]
    fn grants_demand_how_people_have_signed_in() {
        let grant = |pairs: &[(&str, &str)]| {
            let all = [("value", "ada@example.org"), ("tenant", "acme"), ("role", "viewer")];
            let pairs = all.iter().chain(pairs).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            OidcSection { grants: vec![pairs.collect()], ..OidcSection::default() }
        };
        let check = |section: &OidcSection, claims: Value, expected: Option<&str>| {
            let claims = IdTokenClaims::of(claims.as_object().unwrap().clone());
            let people = people(section, &claims);
            assert_eq!(people.first().map(|person| person.subject.as_str()), expected, "{section:?} {claims:?}");
        };
        let ada = |more: Value| {
            let mut claims = json!({"sub": "1", "email": "ada@example.org", "groups": "ada@example.org"});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            claims
        };
        let email = Some("ada@example.org");
        let by_email = grant(&[("claim", "email")]);
        check(&by_email, ada(json!({"email_verified": true})), email);
        check(&by_email, ada(json!({"email_verified": false})), None);
        check(&by_email, ada(json!({})), None);
        let by_group = grant(&[("claim", "groups")]);
        check(&by_group, ada(json!({})), email);
        check(&by_group, ada(json!({"email_verified": false})), Some("1"));
        let verified = grant(&[("claim", "groups"), ("email_verified", "true")]);
        check(&verified, ada(json!({"email_verified": true})), email);
        check(&verified, ada(json!({})), None);
        let strong = grant(&[("claim", "groups"), ("acr", "phr"), ("amr", "mfa")]);
        check(&strong, ada(json!({"acr": "phr", "amr": ["pwd", "mfa"]})), email);
        check(&strong, ada(json!({"acr": "phr", "amr": ["pwd"]})), None);
        check(&strong, ada(json!({"acr": "phr"})), None);
        check(&strong, ada(json!({"acr": "0", "amr": ["mfa"]})), None);
    }

    #[test]
    fn claims_grant_the_highest_role_of_each_tenant() {
        let ada = "ada@example.org";
        check(&json!({"sub": "1"}), &[]);
        check(&json!({"sub": "1", "groups": ["other"]}), &[]);
        let one = json!({"sub": "1", "email": ada, "groups": "support"});
        check(&one, &[("acme", Role::Support, ada)]);
        let several = json!({"sub": "1", "email": ada, "groups": ["support", "admins"]});
        check(&several, &[("acme", Role::Administrator, ada), ("globex", Role::Viewer, ada)]);
        check(&json!({"sub": "1", "department": 7}), &[("initech", Role::Viewer, "1")]);
        check(&json!({"sub": "1", "is_operator": true}), &[("acme", Role::Operator, "1")]);
        check(&json!({"sub": "1", "is_operator": "no", "groups": {"support": true}}), &[]);
        check(&json!({"groups": ["support"]}), &[]);
    }
}
