//! Ids of agents that an operator of one tenant makes: each tenant has a namespace of its own.
//!
//! Agent ids are unique in the record, so an id that is taken says that somebody has it. An operator of one tenant therefore
//! chooses the beginning of an id only; its end is the tenant's namespace, in which no other tenant's operator makes agents.

use domain::{AgentId, TenantId, Violation};

use super::secret::digest;

/// Bytes of SHA-256 of the tenant's id that are its namespace: 12 hexadecimal digits.
const NAMESPACE_BYTES: usize = 6;

/// The agent id of a name in a tenant's namespace: `<name>-<namespace>`. An id that is in the namespace stays as it is.
///
/// # Errors
/// As [`AgentId::parse`] of the whole id.
pub fn agent_id_of_tenant(tenant: &TenantId, name: &str) -> Result<AgentId, Violation> {
    let digest = digest(tenant.as_str());
    let namespace = hex::encode(digest.get(..NAMESPACE_BYTES).unwrap_or_default());
    let ending = format!("-{namespace}");
    let name = name.strip_suffix(&ending).unwrap_or(name);
    AgentId::parse(name)?;
    AgentId::parse(format!("{name}{ending}"))
}

#[cfg(test)]
mod tests {
    use domain::ViolationReason;

    use super::*;

    #[test]
    fn names_are_in_the_namespace_of_their_tenant() {
        let check = |tenant: &str, name: &str, expected: Result<&str, ViolationReason>| {
            let tenant = TenantId::parse(tenant).unwrap();
            let seen = agent_id_of_tenant(&tenant, name);
            let seen = seen.as_ref().map(AgentId::as_str);
            assert_eq!(seen.map_err(|violation| violation.reason), expected);
        };
        check("acme", "support", Ok("support-822b33ad87c1"));
        check("globex", "support", Ok("support-5bc1a08d28e4"));
        check("acme", "support-822b33ad87c1", Ok("support-822b33ad87c1"));
        check(
            "globex",
            "support-822b33ad87c1",
            Ok("support-822b33ad87c1-5bc1a08d28e4"),
        );
        let longest = "x".repeat(51);
        check("acme", &longest, Ok(&format!("{longest}-822b33ad87c1")));
        check("acme", &"x".repeat(52), Err(ViolationReason::TooLong));
        check("acme", "", Err(ViolationReason::Missing));
        check("acme", "a.b", Err(ViolationReason::Malformed));
    }
}
