//! The audit log: what administrators and service tokens read, and who reads the log itself. `dashboard/audit.rs` tests the entries of
//! people and their page.

mod administrators;
mod months;
mod readers;
mod service_tokens;

use tonic::{Status, Streaming};
use wire::proto::operate::v1::{AuditActorKind, AuditEntry, WatchAuditLogRequest, WatchAuditLogResponse};

use crate::fixture::Fixture;

/// A request for the entries of a tenant that exist.
fn request(tenant: &str) -> WatchAuditLogRequest {
    WatchAuditLogRequest { tenant_id: tenant.to_owned(), ..WatchAuditLogRequest::default() }
}

async fn open(fixture: &Fixture, request: WatchAuditLogRequest) -> Result<Streaming<WatchAuditLogResponse>, Status> {
    open_with(fixture, fixture.stack.token().await, request).await
}

async fn open_with(
    fixture: &Fixture,
    token: &str,
    request: WatchAuditLogRequest,
) -> Result<Streaming<WatchAuditLogResponse>, Status> {
    let mut audit = fixture.stack.caller(token).audit();
    Ok(audit.watch_audit_log(request).await?.into_inner())
}

/// The entries of a request without `follow`.
async fn entries(fixture: &Fixture, request: WatchAuditLogRequest) -> Vec<AuditEntry> {
    let mut stream = Box::pin(open(fixture, request)).await.expect("a stream");
    let mut entries = Vec::new();
    while let Some(response) = stream.message().await.expect("an entry") {
        entries.push(response.entry.expect("an entry"));
    }
    entries
}

/// The entries of [`Fixture::tenant`] by actors of a kind.
async fn entries_of(fixture: &Fixture, kind: AuditActorKind) -> Vec<AuditEntry> {
    entries(fixture, WatchAuditLogRequest { actor_kind: kind.into(), ..request(fixture.tenant) }).await
}
