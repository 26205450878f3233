//! Agent ids in the namespace of a tenant, for operators of a single tenant.
//!
//! Agent ids are unique in the record, so a taken id would show that another tenant has it. An operator of one tenant therefore
//! chooses only the first part of an id; the last part is the tenant's namespace, which no other tenant's operator can use.

use domain::{AgentId, TenantId, Violation};

use crate::secret::digest;

/// Bytes of the SHA-256 of the tenant's id in the namespace: 12 hexadecimal digits.
const NAMESPACE_BYTES: usize = 6;

/// The agent id of a name in a tenant's namespace: `<name>-<namespace>`. An id in the namespace is returned unchanged.
///
/// # Errors
/// Same as [`AgentId::parse`] of the whole id.
pub fn agent_id_of_tenant(tenant: &TenantId, name: &str) -> Result<AgentId, Violation> {
    let digest = digest(tenant.as_str());
    let namespace = hex::encode(digest.get(..NAMESPACE_BYTES).unwrap_or_default());
    let suffix = format!("-{namespace}");
    let name = name.strip_suffix(&suffix).unwrap_or(name);
    AgentId::parse(name)?;
    AgentId::parse(format!("{name}{suffix}"))
}

#[cfg(test)]
mod tests {
    use domain::ViolationReason;

    use super::*;

    #[test]
    fn names_are_in_the_namespace_of_their_tenant() {
        let check = |tenant: &str, name: &str, expected: Result<&str, ViolationReason>| {
            let tenant = TenantId::parse(tenant).unwrap();
            let id = agent_id_of_tenant(&tenant, name);
            let seen = id.as_ref().map(AgentId::as_str);
            assert_eq!(seen.map_err(|violation| violation.reason), expected);
        };
        check("acme", "support", Ok("support-822b33ad87c1"));
        check("globex", "support", Ok("support-5bc1a08d28e4"));
        check("acme", "support-822b33ad87c1", Ok("support-822b33ad87c1"));
        check("globex", "support-822b33ad87c1", Ok("support-822b33ad87c1-5bc1a08d28e4"));
        let longest = "x".repeat(51);
        check("acme", &longest, Ok(&format!("{longest}-822b33ad87c1")));
        check("acme", &"x".repeat(52), Err(ViolationReason::TooLong));
        check("acme", "", Err(ViolationReason::Missing));
        check("acme", "a.b", Err(ViolationReason::Malformed));
    }
}
