//! Deletes expired documents. They are not read any more; the deletion removes their rows, and is part of their history.

use std::collections::BTreeSet;

use domain::{AgentId, CommitId, DocumentName, TenantAccess, TenantId, Timestamp};
use read_model::ReadModelError;
use read_model::queries::documents::{ExpiredDocuments, ExpiryCursor, expired_documents};
use registry::{Principal, Scope};
use wire::proto::event::v1 as event;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;

use super::Dependencies;
use super::change::outcome_of;
use super::progress::Progress;
use super::resume_points::{DocumentsPoint, ResumePoints, starting_with};
use super::rules::RuleKind;
use conversations::commands::{Issuer, command_target};

/// Maximum number of pages of expired documents that a round reads. The next round continues after them.
const PAGES_MAX: u32 = 1_000;

/// Deletes expired documents of every tenant of the database, one conversation after another, within the limits of `progress`. It is not
/// that of the rules: each has [`super::Limits::changes_max`] for itself, so neither delays the other. The next round continues where
/// this one ended, so no tenant or conversation delays the others.
///
/// # Errors
/// [`ReadModelError::Unavailable`]. Corrupt rows of one tenant do not end the sweep.
pub(super) async fn sweep(
    deps: &Dependencies,
    principal: &Principal,
    progress: &mut Progress,
    resume_points: &mut ResumePoints,
) -> Result<(), ReadModelError> {
    let mut sweep = Sweep { deps, principal, progress, pages_left: PAGES_MAX };
    let mut first = resume_points.take_documents();
    let first_tenant = first.as_ref().map(|first| &first.tenant);
    let mut tenants = starting_with(&tenants_of(deps), first_tenant).into_iter();
    while let Some(tenant) = tenants.next() {
        let start = first.take().filter(|first| first.tenant == tenant);
        let after = start.and_then(|start| start.after);
        match sweep.process_tenant(&tenant, after).await {
            Ok(None) => {}
            Ok(Some(point)) => {
                resume_points.save_documents(point);
                return Ok(());
            }
            Err(error @ ReadModelError::Unavailable { .. }) => {
                if let Some(next) = tenants.next() {
                    resume_points.save_documents(DocumentsPoint::first_of(next));
                }
                return Err(error);
            }
            Err(error) => {
                tracing::error!(tenant.id = %tenant, %error, "the expired documents of a tenant cannot be read");
                sweep.progress.tally.failed += 1;
            }
        }
    }
    Ok(())
}

fn tenants_of(deps: &Dependencies) -> BTreeSet<TenantId> {
    let tenants = deps
        .registry
        .list_tenants()
        .into_iter()
        .filter_map(|tenant| TenantId::parse(tenant.tenant_id).ok())
        .filter(|tenant| deps.read_model.serves(tenant));
    tenants.collect()
}

/// The part of a round that deletes expired documents.
struct Sweep<'a> {
    deps: &'a Dependencies,
    principal: &'a Principal,
    progress: &'a mut Progress,
    pages_left: u32,
}

impl Sweep<'_> {
    /// Deletes the expired documents of a tenant after a position. Returns where the next round continues; `None`: there are no more.
    async fn process_tenant(
        &mut self,
        tenant: &TenantId,
        mut after: Option<ExpiryCursor>,
    ) -> Result<Option<DocumentsPoint>, ReadModelError> {
        let Some(access) = self.access(tenant).await else {
            return Ok(None);
        };
        let now = Timestamp(self.deps.clock.now_nanos());
        loop {
            if self.pages_left == 0 || self.progress.is_over() {
                let tenant = tenant.clone();
                return Ok(Some(DocumentsPoint { tenant, after }));
            }
            self.pages_left -= 1;
            let page = expired_documents(&self.deps.read_model, &access, now, after.as_ref()).await?;
            for found in page.conversations {
                if self.progress.is_over() {
                    let tenant = tenant.clone();
                    return Ok(Some(DocumentsPoint { tenant, after }));
                }
                self.progress.take_turn().await;
                let answer = delete(self.deps, tenant, &found).await;
                self.progress.count(RuleKind::Documents, outcome_of(&answer));
                after = Some(found.first);
            }
            let Some(next) = page.next else {
                return Ok(None);
            };
            after = Some(next);
        }
    }

    /// Access to the rows of a tenant; `None`: it has no agents, or the token does not allow it.
    async fn access(&self, tenant: &TenantId) -> Option<TenantAccess> {
        let registry = &self.deps.registry;
        let agents = registry.list_agents(tenant);
        let agent = AgentId::parse(&*agents.first()?.agent_id).ok()?;
        let access = registry.authorize(self.principal, Scope::Read, &agent);
        Some(access.await.ok()?.tenant)
    }
}

/// Deletes the documents by one commit, unless their conversation has changed. The deletions happen when the last event did: they are
/// no activity that keeps a conversation.
async fn delete(deps: &Dependencies, tenant: &TenantId, found: &ExpiredDocuments) -> Result<CommitResult, Problem> {
    let deleted = |name: &DocumentName| event::Event {
        occurred_at: Some(wire::time::to_proto(found.last_event_at)),
        fact: Some(Fact::DocumentDeleted(event::DocumentDeleted {
            namespace: name.namespace.labels().to_vec(),
            key: name.key.clone(),
        })),
        ..event::Event::default()
    };
    let request = proto::AppendEventsRequest {
        target: Some(proto::CommandTarget {
            expected_version: Some(found.version.0),
            ..command_target(&found.agent, &found.first.conversation, Some(key(tenant, found)))
        }),
        events: found.names.iter().map(deleted).collect(),
        ..proto::AppendEventsRequest::default()
    };
    deps.commands.send(Issuer::Gateway, request).await
}

/// The idempotency key: gateways that find the same documents send the same command.
fn key(tenant: &TenantId, found: &ExpiredDocuments) -> CommitId {
    let (conversation, version) = (&found.first.conversation, found.version);
    let mut text = format!("retention/documents/{tenant}/{conversation}/{version}");
    for name in &found.names {
        // Names do not contain U+0000.
        text.extend(["\0", &name.namespace.encoded(), "\0", &name.key]);
    }
    CommitId::named(&text)
}
