//! Parses and authorizes requests: the scope and the name of a document.

use domain::{CommitId, ConversationId, DocumentName, DocumentNamespace, Violation};
use registry::AgentAccess;
use wire::conversation::owner_from_proto;
use wire::proto::document::v1 as proto;
use wire::proto::document::v1::document_scope::Kind;
use wire::status::Problem;

use super::DocumentRpc;
use conversations::documents::{Change, DocumentLocation, DocumentScope};
use conversations::request::{Call, missing};

/// The caller's permission, and whose documents the request names.
pub(super) async fn authorize(
    rpc: &DocumentRpc,
    call: &Call,
    scope: Option<proto::DocumentScope>,
) -> Result<(AgentAccess, DocumentScope), Problem> {
    let scope = scope.ok_or_else(|| missing().within("scope"))?;
    let agent = call.agent(&rpc.gateway, &scope.agent_id).await.map_err(|violation| violation.within("scope"))?;
    let kind = kind(scope.kind).map_err(|violation| violation.within("scope"))?;
    let access = call.authorize(&rpc.gateway, agent, "scope.agent_id");
    Ok((access.await?, kind))
}

/// The location of the document that the request names.
pub(super) async fn locate(
    rpc: &DocumentRpc,
    call: &Call,
    scope: Option<proto::DocumentScope>,
    name: (Vec<String>, String),
) -> Result<DocumentLocation, Problem> {
    let name = DocumentName::parse(name.0, name.1)?;
    let (access, scope) = authorize(rpc, call, scope).await?;
    scope.locate(&rpc.gateway, access, name, call.deadline)
}

/// The first or last labels of namespaces.
pub(super) fn labels(labels: Vec<String>, field: &str) -> Result<DocumentNamespace, Violation> {
    DocumentNamespace::parse_prefix(labels).map_err(|violation| violation.within(field))
}

/// A change of a document.
pub(super) fn change<'call>(
    rpc: &'call DocumentRpc,
    call: &'call Call,
    location: &'call DocumentLocation,
    expected: Option<u64>,
    key: Option<CommitId>,
) -> Change<'call> {
    Change { gateway: &rpc.gateway, commands: &rpc.commands, call, location, expected, key, now: rpc.gateway.now() }
}

fn kind(kind: Option<Kind>) -> Result<DocumentScope, Violation> {
    match kind {
        None => Ok(DocumentScope::Agent),
        Some(Kind::Owner(owner)) => {
            owner_from_proto(Some(owner)).map(DocumentScope::Owner).map_err(|violation| violation.within("owner"))
        }
        Some(Kind::ConversationId(id)) => ConversationId::parse(id)
            .map(DocumentScope::Conversation)
            .map_err(|violation| violation.within("conversation_id")),
    }
}
