//! Signing keys.

use domain::{SigningKeyId, Violation, ViolationReason};
use registry::{NewSigningKey, SigningMaterial};
use wire::proto::operate::v1::SigningKeyUse;
use wire::proto::operate::v1::add_signing_key_request::Kind;
use wire::time;

use super::{Problem, Request, Writer, administrator, end, from_registry, key_uses, proto, visible_tenant};

pub(super) async fn add(
    writer: &Writer,
    request: Request<proto::AddSigningKeyRequest>,
) -> Result<(proto::SigningKey, String), Problem> {
    let (by, request) = administrator(writer, request).await?;
    let tenant = visible_tenant(writer, &by.principal, &request.tenant_id)?;
    let id = signing_key_id(&request.signing_key_id)?;
    if let Some(Kind::JwksUrl(url)) = &request.kind {
        writer.egress.check_url("jwks_url", url)?;
    }
    let new = NewSigningKey {
        key_use: key_use(&request)?,
        expires_at: end(request.expires_at, writer.now())?,
        material: request.kind.map(|kind| material(&id, kind)).transpose()?,
        tenant,
        id,
    };
    by.record_change(writer, format!("signing key {}: added", new.id)).await?;
    let added = writer.registry.add_signing_key(new, writer.now()).await;
    let (signing_key, secret) = added.map_err(from_registry("signing_key_id"))?;
    let secret = secret.map_or_else(String::new, |secret| secret.reveal().to_owned());
    Ok((signing_key, secret))
}

pub(super) async fn retire(
    writer: &Writer,
    request: Request<proto::RetireSigningKeyRequest>,
) -> Result<proto::SigningKey, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let tenant = visible_tenant(writer, &by.principal, &request.tenant_id)?;
    let id = signing_key_id(&request.signing_key_id)?;
    let now = writer.now();
    let from =
        request.retired_at.map_or(Ok(now), time::from_proto).map_err(|violation| violation.within("retired_at"))?;
    by.record_change(writer, format!("signing key {id}: retired")).await?;
    let registry = &writer.registry;
    registry.retire_signing_key(&tenant, &id, from, now).await.map_err(from_registry("signing_key_id"))
}

pub(super) async fn list(
    writer: &Writer,
    request: Request<proto::ListSigningKeysRequest>,
) -> Result<Vec<proto::SigningKey>, Problem> {
    let (by, request) = administrator(writer, request).await?;
    let tenant = visible_tenant(writer, &by.principal, &request.tenant_id)?;
    key_uses::add_to_signing_keys(writer, &tenant, writer.registry.list_signing_keys(&tenant)).await
}

fn signing_key_id(text: &str) -> Result<SigningKeyId, Violation> {
    SigningKeyId::parse(text).map_err(|violation| violation.within("signing_key_id"))
}

fn key_use(request: &proto::AddSigningKeyRequest) -> Result<SigningKeyUse, Violation> {
    let violation = |reason, rule: &str| Violation::new(reason, rule).within("use");
    match SigningKeyUse::try_from(request.r#use) {
        Ok(SigningKeyUse::Unspecified) => Err(violation(ViolationReason::Missing, "is required")),
        Ok(known) => Ok(known),
        Err(_) => Err(violation(ViolationReason::Malformed, "is not a known use of a key")),
    }
}

fn material(id: &SigningKeyId, kind: Kind) -> Result<SigningMaterial, Violation> {
    let (field, material) = match kind {
        Kind::Hs256Secret(secret) => ("hs256_secret", SigningMaterial::hs256(id, secret)),
        Kind::JwksJson(json) => ("jwks_json", SigningMaterial::jwks(id, json)),
        Kind::JwksUrl(url) => {
            let material = SigningMaterial::jwks_url(url);
            return material.map_err(|violation| violation.within("jwks_url"));
        }
    };
    material.map_err(|error| Violation::new(ViolationReason::Malformed, error.to_string()).within(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_use_of_a_key_is_known() {
        let check = |given: i32, expected: Result<SigningKeyUse, ViolationReason>| {
            let request = proto::AddSigningKeyRequest { r#use: given, ..proto::AddSigningKeyRequest::default() };
            assert_eq!(key_use(&request).map_err(|violation| violation.reason), expected, "{given}");
        };
        check(0, Err(ViolationReason::Missing));
        check(99, Err(ViolationReason::Malformed));
        check(SigningKeyUse::User.into(), Ok(SigningKeyUse::User));
    }
}
