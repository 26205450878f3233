//! What the audit log of a tenant contains, and the reads that gateways record in it.

use domain::{Label, TenantId, Violation, ViolationReason};
use registry::{AccessError, Scope};
use wire::audit::AuditActor;
use wire::proto::operate::v1::audited_read::Reader;

use super::dashboard::{action, conversation, detail};
use super::{Problem, Request, Writer, from_registry, not_found, operator, principal, proto, visible_tenant};
use crate::audit::{self, Batch, Entry, EntryKey};
use crate::problem::access_problem;
use crate::request::{digest, idempotency_key};

/// Maximum number of reads of a request.
const READS_MAX: usize = 100;

pub(super) async fn set(
    writer: &Writer,
    request: Request<proto::SetTenantAuditRequest>,
) -> Result<proto::Tenant, Problem> {
    let (operator, request) = operator(writer, request).await?;
    let tenant = visible_tenant(writer, &operator, &request.tenant_id)?;
    let registry = &writer.registry;
    registry.set_tenant_audit(&tenant, request.service_token_reads).await.map_err(from_registry("tenant_id"))
}

pub(super) async fn record_reads(
    writer: &Writer,
    request: Request<proto::RecordReadsRequest>,
) -> Result<String, Problem> {
    let (gateway, request) = principal(writer, request, Scope::Append).await?;
    let tenant = TenantId::parse(&request.tenant_id).map_err(|violation| violation.within("tenant_id"))?;
    let access = writer.registry.authorize_audit_writer(&gateway, &tenant).await.map_err(|error| match error {
        AccessError::UnknownTenant => not_found("tenant", "tenant_id"),
        error @ (AccessError::MissingScope(_) | AccessError::BoundToAgents | AccessError::UnknownAgent) => {
            access_problem(&error, "tenant_id")
        }
    })?;
    let request_digest = digest(&request);
    let missing = || Violation::new(ViolationReason::Missing, "is required").within("idempotency_key");
    let id = idempotency_key(&request.idempotency_key)?.ok_or_else(missing)?;
    let key = EntryKey { id, field: "idempotency_key", request_digest };
    let batch = Batch::with_key(access, gateway.actor, &entries(request.reads)?, key)?;
    Ok(audit::append(writer, batch).await?.position_token)
}

fn entries(reads: Vec<proto::AuditedRead>) -> Result<Vec<Entry>, Violation> {
    if reads.is_empty() || reads.len() > READS_MAX {
        let rule = format!("has {} reads: send 1 to {READS_MAX}", reads.len());
        return Err(Violation::new(ViolationReason::OutOfRange, rule).within("reads"));
    }
    let entries = reads.into_iter().enumerate();
    entries.map(|(index, read)| entry(read).map_err(|violation| violation.at(index).within("reads"))).collect()
}

fn entry(read: proto::AuditedRead) -> Result<Entry, Violation> {
    let (action, conversation) = (action(read.action())?, conversation(&read.conversation_id)?);
    let (actor_kind, name, field) = match read.reader {
        Some(Reader::Administrator(name)) => (AuditActor::Administrator, name, "administrator"),
        Some(Reader::ServiceToken(name)) => (AuditActor::ServiceToken, name, "service_token"),
        None => return Err(Violation::new(ViolationReason::Missing, "is required").within("reader")),
    };
    Ok(Entry {
        actor_kind,
        name: Label::parse(name).map_err(|violation| violation.within(field))?,
        role: actor_kind.as_str(),
        action,
        conversation,
        detail: detail(read.detail)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: Option<Reader>) -> proto::AuditedRead {
        let action = proto::DashboardAction::Viewed.into();
        proto::AuditedRead { reader, action, ..proto::AuditedRead::default() }
    }

    #[test]
    fn a_request_has_a_bounded_number_of_reads() {
        let reads = |count| vec![read(Some(Reader::Administrator("root".to_owned()))); count];
        for (count, is_valid) in [(0, false), (1, true), (READS_MAX, true), (READS_MAX + 1, false)] {
            assert_eq!(entries(reads(count)).is_ok(), is_valid, "{count}");
        }
    }

    #[test]
    fn a_read_names_its_reader() {
        let field = |reader| entry(read(reader)).err().map(|violation| violation.field);
        assert_eq!(field(None).map(|field| field.to_string()).as_deref(), Some("reader"));
        assert_eq!(
            field(Some(Reader::ServiceToken(String::new()))).map(|field| field.to_string()).as_deref(),
            Some("service_token")
        );
        assert_eq!(field(Some(Reader::ServiceToken("t".to_owned()))), None);
    }
}
