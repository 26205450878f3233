//! The logs of a tenant: which exist, and how to read one.

use domain::{Actor, AgentId, ConversationKey, Label, Status, TenantAccess, Timestamp, Version};
use history::{Deadline, Freshness, Target};
use registry::AgentAccess;
use wire::audit::AuditMonth;
use wire::status::Problem;

use crate::{Gateway, problem};

/// The name of the reader, which no commit contains.
const READER: &str = "audit log";

/// The first log of this month or a later one, and the version of its last entry; `None`: there is none yet. Clocks of writers may be
/// ahead: the month after the present one counts too.
///
/// # Errors
/// The record does not answer.
pub(super) async fn first_from(
    gateway: &Gateway,
    tenant: &TenantAccess,
    month: AuditMonth,
    now: Timestamp,
) -> Result<Option<(AuditMonth, Version)>, Problem> {
    let last = AuditMonth::of(now).later();
    let mut month = month;
    while month <= last {
        if let Some(version) = version(gateway, tenant, month).await? {
            return Ok(Some((month, version)));
        }
        month = month.later();
    }
    Ok(None)
}

/// The version of the last entry of a log, read from the leader of its stream; `None`: it does not exist.
async fn version(gateway: &Gateway, tenant: &TenantAccess, month: AuditMonth) -> Result<Option<Version>, Problem> {
    let key = key(tenant, month)?;
    let last = Deadline::until(None).record(gateway.reader.archive.last_commit(&key)).await?;
    let Some(last) = last else {
        return Ok(None);
    };
    let head = last.open_head().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    Ok(Some(head.version).filter(|_| head.status != Status::Erased))
}

/// The month in which the tenant was created: no log is older.
pub(super) fn first_month(gateway: &Gateway, tenant: &TenantAccess) -> Option<AuditMonth> {
    let created_at = gateway.registry.tenant(tenant.tenant())?.created_at?;
    Some(AuditMonth::of(wire::time::from_proto(created_at).ok()?))
}

/// The conversation that is the log of a month.
///
/// # Errors
/// Never: the name is valid.
pub(super) fn key(tenant: &TenantAccess, month: AuditMonth) -> Result<ConversationKey, Problem> {
    Ok(ConversationKey { tenant: tenant.tenant().clone(), conversation: month.log()? })
}

/// How to read the log of a month.
///
/// # Errors
/// Never: the names are valid.
pub(super) fn target(tenant: &TenantAccess, month: AuditMonth) -> Result<Target, Problem> {
    let agent = AgentId::parse(AgentId::AUDIT_LOG)?;
    Ok(Target {
        key: key(tenant, month)?,
        access: AgentAccess { tenant: tenant.clone(), agent, actor: Actor(Label::parse(READER)?) },
        freshness: Freshness::Leader,
        fence: None,
        deadline: Deadline::until(None),
    })
}
