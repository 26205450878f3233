//! Settings of OpenID Connect.

use std::collections::BTreeMap;

use axum::http::Uri;
use identity::{Role, TenantScope};
use runtime::config::{Checks, Secret, Validate};
use serde::{Deserialize, Serialize};

/// The claim that says whether the provider has verified the e-mail address.
pub const EMAIL_VERIFIED: &str = "email_verified";
/// Claims that a grant can demand beside its own: how the person has signed in (`acr`, `amr`; OpenID Connect Core 1.0, section 2).
pub const DEMANDS: [&str; 3] = [EMAIL_VERIFIED, "acr", "amr"];
/// Maximum number of grants.
const GRANTS_MAX: usize = 1_000;
/// Maximum number of scopes that are requested.
const SCOPES_MAX: usize = 32;

/// Settings of OpenID Connect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OidcSection {
    /// URL of the provider, its `issuer`, such as `https://login.example.org`. The section `egress` must allow its servers.
    /// Without it, people sign in with links.
    pub issuer: Option<String>,
    /// The id of this client at the provider.
    pub client_id: String,
    /// The secret of this client at the provider. Empty: a public client, which PKCE protects.
    pub client_secret: Secret,
    /// Public URL of the gateway, such as `https://hansard.example.org`. Register `<url>/dashboard/sign-in/callback` as redirect
    /// URI at the provider.
    pub url: Option<String>,
    /// The requested scopes.
    pub scopes: Vec<String>,
    /// The claim with the person's name, which the audit log records. Without such a claim, the name is `sub`.
    pub name_claim: String,
    /// Tenants and roles by claims, such as `[{ claim = "groups", value = "support", tenant = "acme", role = "support" }]`. Of
    /// several grants of one tenant, the highest role applies. Without any, nobody can sign in. `tenants = "all"` lets an operator
    /// switch to every other tenant. `email_verified = "true"`, `acr` and `amr` demand these claims too; a grant with
    /// `claim = "email"` demands a verified address always.
    pub grants: Vec<BTreeMap<String, String>>,
}

impl Default for OidcSection {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: String::new(),
            client_secret: Secret::default(),
            url: None,
            scopes: ["openid", "profile", "email"].map(str::to_owned).to_vec(),
            name_claim: "email".to_owned(),
            grants: Vec::new(),
        }
    }
}

impl Validate for OidcSection {
    fn validate(&self, checks: &mut Checks<'_>) {
        for (key, url) in [("issuer", &self.issuer), ("url", &self.url)] {
            if !url.iter().all(|url| is_url(url)) {
                let error = "is not a URL; write it like `https://login.example.org`";
                checks.invalid(key, error.to_owned());
            }
        }
        if self.issuer.is_some() && self.url.is_none() {
            let error = "is required with `issuer`; write it like `https://hansard.example.org`";
            checks.invalid("url", error.to_owned());
        }
        if self.issuer.is_some() && self.client_id.is_empty() {
            let error = "is required with `issuer`: register a client at the provider";
            checks.invalid("client_id", error.to_owned());
        }
        for (key, count, max) in [("scopes", self.scopes.len(), SCOPES_MAX), ("grants", self.grants.len(), GRANTS_MAX)]
        {
            if count > max {
                let error = format!("lists {count} values, at most {max} are accepted");
                checks.invalid(key, error);
            }
        }
        if !self.grants.iter().all(is_grant) {
            let error = "lists a value that is no grant; write `claim`, `value`, `tenant` and a `role` of viewer, support, \
                         administrator or operator; an operator may have `tenants = \"all\"`, any grant \
                         `email_verified`, `acr` and `amr`";
            checks.invalid("grants", error.to_owned());
        }
    }
}

fn is_url(url: &str) -> bool {
    let url: Option<Uri> = url.parse().ok();
    url.is_some_and(|url| url.scheme().is_some() && url.host().is_some())
}

fn is_grant(grant: &BTreeMap<String, String>) -> bool {
    let has = |key: &str| grant.get(key).is_some_and(|value| !value.is_empty());
    let role = grant.get("role").and_then(|role| Role::parse(role));
    let is_complete = ["claim", "value", "tenant"].into_iter().all(has);
    let tenants = grant.get("tenants").map(String::as_str);
    let is_of_all = role == Some(Role::Operator) && tenants == Some(TenantScope::All.as_str());
    let is_known = |key: &String| {
        let key = key.as_str();
        ["claim", "value", "tenant", "role"].contains(&key)
            || key == "tenants" && is_of_all
            || DEMANDS.contains(&key) && has(key)
    };
    is_complete && role.is_some() && grant.keys().all(is_known)
}

#[cfg(test)]
mod tests {
    use runtime::config::{Sources, load};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn settings_are_checked() {
        let check = |settings: &Value, expected: bool| {
            let taken = load::<OidcSection>(&Sources::new().flags(settings));
            assert_eq!(taken.is_ok(), expected, "{settings}: {:?}", taken.err());
        };
        let grant = json!({"claim": "groups", "value": "a", "tenant": "acme", "role": "viewer"});
        let provider = |changed: Value| {
            let mut provider = json!({"issuer": "https://a", "url": "https://b", "client_id": "c"});
            let (all, changed) = (provider.as_object_mut().unwrap(), changed);
            all.extend(changed.as_object().unwrap().clone());
            provider
        };
        check(&json!({}), true);
        check(&provider(json!({})), true);
        check(&provider(json!({"issuer": "a"})), false);
        check(&provider(json!({"url": Value::Null})), false);
        check(&provider(json!({"client_id": ""})), false);
        for (count, expected) in [(1, true), (1_000, true), (1_001, false)] {
            check(&provider(json!({"grants": vec![grant.clone(); count]})), expected);
        }
        for (count, expected) in [(32, true), (33, false)] {
            check(&provider(json!({"scopes": vec!["openid"; count]})), expected);
        }
        for (role, tenants, expected) in
            [("operator", "all", true), ("operator", "one", false), ("administrator", "all", false)]
        {
            let mut scoped = grant.clone();
            scoped["role"] = json!(role);
            scoped["tenants"] = json!(tenants);
            check(&provider(json!({"grants": [scoped]})), expected);
        }
        for (key, value, expected) in [
            ("acr", "phr", true),
            ("amr", "mfa", true),
            ("email_verified", "true", true),
            ("acr", "", false),
            ("azp", "a", false),
        ] {
            let mut demanding = grant.clone();
            demanding[key] = json!(value);
            check(&provider(json!({"grants": [demanding]})), expected);
        }
        for key in ["claim", "value", "tenant", "role"] {
            let mut wrong = grant.clone();
            wrong[key] = json!("");
            check(&provider(json!({"grants": [wrong]})), false);
        }
    }
}
