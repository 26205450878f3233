//! When keys and tokens were last used: stored for gateways, and added to lists.

use std::collections::BTreeSet;

use domain::{SigningKeyId, TenantId, Timestamp, Violation, ViolationReason};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use prost_types::Timestamp as ProtoTimestamp;
use registry::{KEY_USES_MAX, KeyOwner, KeyUses, Scope, UsedKey, key_uses_from_proto};
use wire::time;

use super::{Problem, Request, Writer, principal, proto};
use crate::problem;

/// Entries that are read at once for a list of the tokens of several tenants.
const ENTRIES_IN_FLIGHT: usize = 16;

pub(super) async fn record(writer: &Writer, request: Request<proto::RecordKeyUsesRequest>) -> Result<u32, Problem> {
    let (principal, request) = principal(writer, request, Scope::Append).await?;
    principal.require_whole_tenant().map_err(|error| problem::access_problem(&error, "uses"))?;
    check_count(request.uses.len())?;
    let uses = until(key_uses_from_proto(&request.uses), writer.now());
    let sees = |owner: &KeyOwner| match owner {
        KeyOwner::Tenant(tenant) => principal.sees(tenant),
        KeyOwner::AllTenants => principal.tenant.is_none(),
    };
    let count = writer.registry.store_key_uses(uses, sees).await.map_err(problem::from_record)?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

fn check_count(count: usize) -> Result<(), Violation> {
    if count > KEY_USES_MAX {
        let rule = format!("has {count} entries, the maximum is {KEY_USES_MAX}");
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within("uses"));
    }
    Ok(())
}

/// The uses without times in the future, which would hide all later ones.
fn until(uses: KeyUses, now: Timestamp) -> KeyUses {
    uses.into_iter().map(|(key, at)| (key, at.min(now))).collect()
}

/// Adds last uses to the keys of an agent, all of one tenant.
pub(super) async fn add_to_api_keys(
    writer: &Writer,
    mut keys: Vec<proto::ApiKey>,
) -> Result<Vec<proto::ApiKey>, Problem> {
    let uses = of_tenants(writer, keys.iter().map(|key| key.tenant_id.as_str())).await?;
    for key in &mut keys {
        key.last_used_at = last(&uses, &UsedKey::ApiKey(key.api_key_id.clone()));
    }
    Ok(keys)
}

/// Adds last uses to service tokens.
pub(super) async fn add_to_service_tokens(
    writer: &Writer,
    mut tokens: Vec<proto::ServiceToken>,
) -> Result<Vec<proto::ServiceToken>, Problem> {
    let uses = of_tenants(writer, tokens.iter().map(|token| token.tenant_id.as_str())).await?;
    for token in &mut tokens {
        token.last_used_at = last(&uses, &UsedKey::ServiceToken(token.service_token_id.clone()));
    }
    Ok(tokens)
}

/// Adds last uses to the signing keys of a tenant.
pub(super) async fn add_to_signing_keys(
    writer: &Writer,
    tenant: &TenantId,
    mut keys: Vec<proto::SigningKey>,
) -> Result<Vec<proto::SigningKey>, Problem> {
    let uses = of_tenants(writer, [tenant.as_str()].into_iter()).await?;
    for key in &mut keys {
        let id = SigningKeyId::parse(key.signing_key_id.as_str()).ok();
        key.last_used_at = id.and_then(|id| last(&uses, &UsedKey::SigningKey(tenant.clone(), id)));
    }
    Ok(keys)
}

/// The stored uses of the keys of these tenants; an empty id: of the service tokens of all tenants.
async fn of_tenants(writer: &Writer, ids: impl Iterator<Item = &str>) -> Result<KeyUses, Problem> {
    let distinct: BTreeSet<&str> = ids.collect();
    let owners: Vec<KeyOwner> = distinct.into_iter().filter_map(KeyOwner::from_tenant_id).collect();
    let reads = stream::iter(owners).map(|owner| async move { writer.registry.last_key_uses(&owner).await });
    let uses: Vec<KeyUses> = reads.buffered(ENTRIES_IN_FLIGHT).try_collect().await.map_err(problem::from_record)?;
    Ok(uses.into_iter().flatten().collect())
}

fn last(uses: &KeyUses, key: &UsedKey) -> Option<ProtoTimestamp> {
    uses.get(key).copied().map(time::to_proto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_bound() {
        assert!(check_count(KEY_USES_MAX).is_ok());
        let violation = check_count(KEY_USES_MAX + 1).unwrap_err();
        assert_eq!((violation.reason, violation.field.to_string().as_str()), (ViolationReason::OutOfRange, "uses"));
    }

    #[test]
    fn a_use_in_the_future_is_one_of_now() {
        let (key, other) = (UsedKey::ApiKey("a".to_owned()), UsedKey::ApiKey("b".to_owned()));
        let uses = KeyUses::from([(key.clone(), Timestamp(9)), (other.clone(), Timestamp(11))]);
        let expected = KeyUses::from([(key, Timestamp(9)), (other, Timestamp(10))]);
        assert_eq!(until(uses, Timestamp(10)), expected);
    }
}
