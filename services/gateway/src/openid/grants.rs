//! Maps the claims of an ID token to tenants and roles. Pure.

use std::collections::BTreeMap;

use domain::{Label, TenantId};
use identity::{IdTokenClaims, NewPerson, Role, TenantScope};

use super::config::OidcSection;

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
        let is_granted = claims.has(value("claim"), value("value"));
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
        .map(|(tenant, (role, tenant_scope))| NewPerson { tenant, role, tenant_scope, subject: subject.clone() })
        .collect()
}

/// The person's name: the configured claim, or `sub`.
fn name(section: &OidcSection, claims: &IdTokenClaims) -> Option<Label> {
    let names = [claims.text(&section.name_claim), claims.text("sub")];
    names.into_iter().flatten().find_map(|name| Label::parse(name).ok())
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
