//! Rules for the tokens of tenants, and revoked tokens and sessions.

use domain::violation::check_text;
use domain::{SessionId, Violation, ViolationReason};
use identity::ISSUED_OWNER_PREFIX;
use registry::{CheckedTokenRules, RevokedCredential, SettingsError, TOKEN_RULE_BYTES_MAX};
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
    let (revoked, field) = token(&request)?;
    let kept_until = writer.registry.revoke(&tenant, &revoked, writer.now()).await;
    Ok(time::to_proto(kept_until.map_err(from_registry(field))?))
}

pub(super) async fn revoke_session(
    writer: &Writer,
    request: Request<proto::RevokeSessionRequest>,
) -> Result<prost_types::Timestamp, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let session = issued_session(&request.session_id).map_err(|violation| violation.within("session_id"))?;
    let revoked = RevokedCredential::Session(session);
    let kept_until = writer.registry.revoke(&tenant, &revoked, writer.now()).await;
    Ok(time::to_proto(kept_until.map_err(from_registry("session_id"))?))
}

/// The token of a request, and the field that names it.
fn token(request: &proto::RevokeTokenRequest) -> Result<(RevokedCredential, &'static str), Violation> {
    let (id, digest) = (&request.token_id, &request.token_sha256);
    if digest.is_empty() {
        check_token_id(id).map_err(|violation| violation.within("token_id"))?;
        return Ok((RevokedCredential::TokenId(id.clone()), "token_id"));
    }
    let field = "token_sha256";
    let invalid = |reason, rule: String| Violation::new(reason, rule).within(field);
    if !id.is_empty() {
        return Err(invalid(ViolationReason::Malformed, "is given with token_id: leave one of them out".to_owned()));
    }
    let rule = || format!("has {} bytes, but SHA-256 has 32", digest.len());
    let digest = digest.as_ref().try_into().map_err(|_| invalid(ViolationReason::Malformed, rule()))?;
    let expires_at =
        request.expires_at.map(time::from_proto).transpose().map_err(|violation| violation.within("expires_at"))?;
    Ok((RevokedCredential::Token(digest, expires_at), field))
}

/// The owner of an issued session. An id that a caller chose is nothing to revoke: everybody may choose it again.
fn issued_session(id: &str) -> Result<SessionId, Violation> {
    let session = SessionId::parse(id)?;
    if !id.starts_with(ISSUED_OWNER_PREFIX) {
        let rule = format!("is no issued session: it begins with `{ISSUED_OWNER_PREFIX}`");
        return Err(Violation::new(ViolationReason::Malformed, rule));
    }
    Ok(session)
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
    fn a_token_is_named_by_its_id_or_its_digest() {
        let check = |id: &str, digest_bytes: usize, expected: Result<&str, &str>| {
            let request = proto::RevokeTokenRequest {
                token_id: id.to_owned(),
                token_sha256: vec![1; digest_bytes].into(),
                ..proto::RevokeTokenRequest::default()
            };
            let field = token(&request).map(|(_, field)| field).map_err(|violation| violation.field);
            assert_eq!(field, expected.map_err(domain::FieldPath::from), "{id} {digest_bytes}");
        };
        check("a", 0, Ok("token_id"));
        check("", 32, Ok("token_sha256"));
        check("", 0, Err("token_id"));
        check("a", 32, Err("token_sha256"));
        check("", 31, Err("token_sha256"));
        check("", 33, Err("token_sha256"));
    }

    #[test]
    fn only_issued_sessions_are_revoked() {
        let check = |id: &str, expected: Option<ViolationReason>| {
            assert_eq!(issued_session(id).err().map(|violation| violation.reason), expected, "{id}");
        };
        check("issued:AAAAAAAAAAAAAAAAAAAAAA", None);
        check("", Some(ViolationReason::Missing));
        check("chosen", Some(ViolationReason::Malformed));
    }

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
