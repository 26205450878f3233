//! Deletes expired documents. They are not read any more; the deletion removes their rows, and is part of their history.

use std::time::Duration;

use domain::{AgentId, TenantId, Timestamp};
use event_log::registry::{Principal, Scope};
use read_model::queries::documents::{ExpiredDocument, expired_documents};
use tonic::Status;
use uuid::Uuid;
use wire::proto::event::v1 as event;
use wire::proto::event::v1::event::Fact;
use wire::proto::write::v1 as proto;
use wire::proto::write::v1::CommitResult;

use super::change::outcome_of;
use super::progress::Progress;
use super::rules::RuleKind;
use super::{Dependencies, RoundError};
use crate::writer::command_target;

/// The deadline of one call of the writer.
const ANSWER_MAX: Duration = Duration::from_secs(8);

/// Deletes expired documents of every tenant of the database, one after another, within the limits of the round. A later round continues.
pub(super) async fn sweep(
    deps: &Dependencies,
    principal: &Principal,
    progress: &mut Progress,
) -> Result<(), RoundError> {
    let tenants = deps.registry.list_tenants().into_iter();
    let tenants = tenants.filter_map(|tenant| TenantId::parse(tenant.tenant_id).ok());
    for tenant in tenants.filter(|tenant| deps.read_model.serves(tenant)) {
        let agents = deps.registry.list_agents(&tenant);
        let agent = agents.first().map(|agent| AgentId::parse(&*agent.agent_id));
        let Some(Ok(agent)) = agent else { continue };
        let access = deps.registry.authorize(principal, Scope::Read, &agent);
        // The token is bound to another tenant, or to agents: its own rules are reported by the round.
        let Ok(access) = access.await else { continue };
        let now = Timestamp(deps.clock.now_nanos());
        let found = expired_documents(&deps.read_model, &access.tenant, now).await?;
        for document in &found {
            if progress.is_over() {
                return Ok(());
            }
            progress.take_turn().await;
            let answer = delete(deps, &tenant, document).await;
            progress.count(RuleKind::Documents, outcome_of(&answer));
        }
    }
    Ok(())
}

/// Deletes the document, unless its conversation has changed.
async fn delete(
    deps: &Dependencies,
    tenant: &TenantId,
    document: &ExpiredDocument,
) -> Result<CommitResult, Status> {
    let ExpiredDocument {
        agent,
        conversation,
        name,
        version,
    } = document;
    let key = format!("retention/document/{tenant}/{conversation}/{version}");
    let key = Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes());
    let deleted = event::DocumentDeleted {
        namespace: name.namespace.labels().to_vec(),
        key: name.key.clone(),
    };
    let request = proto::AppendEventsRequest {
        target: Some(proto::CommandTarget {
            expected_version: Some(version.0),
            ..command_target(agent, conversation, key.to_string())
        }),
        events: vec![event::Event {
            fact: Some(Fact::DocumentDeleted(deleted)),
            ..event::Event::default()
        }],
        ..proto::AppendEventsRequest::default()
    };
    let mut writer = deps.writer.write(ANSWER_MAX);
    let answer = writer.append_events(request).await?;
    Ok(answer.into_inner().result.unwrap_or_default())
}
