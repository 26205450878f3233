//! Rules for the tokens of tenants, and revoked tokens.

use domain::violation::check_text;
use domain::{Violation, ViolationReason};
use event_log::registry::{CheckedTokenRules, SettingsError, TOKEN_RULE_BYTES_MAX};
use wire::time;

use super::{Problem, Request, Writer, from_registry, from_settings, operator, proto, visible_tenant};

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetTokenRulesRequest>,
) -> Result<proto::Tenant, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let changed = |current: proto::TokenRules| {
        let given = request.clone();
        let lifetime = given.lifetime_seconds_max;
        let rules = proto::TokenRules {
            audience: given.audience.unwrap_or(current.audience),
            issuer: given.issuer.unwrap_or(current.issuer),
            lifetime_seconds_max: lifetime.unwrap_or(current.lifetime_seconds_max),
        };
        CheckedTokenRules::parse(rules).map_err(SettingsError::Broken)
    };
    writer.registry.change_token_rules(&tenant, changed).await.map_err(from_settings("tenant_id"))
}

pub(super) async fn revoke(
    writer: &Writer,
    request: Request<proto::RevokeTokenRequest>,
) -> Result<prost_types::Timestamp, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    check_token_id(&request.token_id).map_err(|violation| violation.within("token_id"))?;
    let registry = &writer.registry;
    let revoked = registry.revoke_token(&tenant, &request.token_id, writer.now()).await;
    let kept_until = revoked.map_err(from_registry("token_id"))?;
    Ok(time::to_proto(kept_until))
}

fn check_token_id(id: &str) -> Result<(), Violation> {
    if id.is_empty() {
        return Err(Violation::new(ViolationReason::Missing, "is required"));
    }
    check_text(id, TOKEN_RULE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_revoked_token_is_required_and_bounded() {
        let check = |id: &str, expected: Option<ViolationReason>| {
            assert_eq!(check_token_id(id).err().map(|violation| violation.reason), expected);
        };
        check("", Some(ViolationReason::Missing));
        check("a", None);
        check(&"a".repeat(TOKEN_RULE_BYTES_MAX), None);
        check(&"a".repeat(TOKEN_RULE_BYTES_MAX + 1), Some(ViolationReason::TooLong));
    }
}
