//! Records in the tenant's audit log what an administrator does with a token, before it is answered. What cannot be recorded is refused.
//!
//! The extractor of administrators calls `record_request`, so no operation of administrators is without an entry. MCP names its tools
//! instead.

use axum::extract::{FromRequestParts as _, MatchedPath, RawPathParams};
use axum::http::Method;
use axum::http::request::Parts;
use domain::{Actor, ConversationId, TenantAccess};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::audited_read::Reader;
use wire::proto::operate::v1::{AuditedRead, DashboardAction, RecordReadsRequest};
use wire::status::{Problem, Reason};

use crate::state::HttpState;
use conversations::problem::RETRY_AFTER;

/// Counts of the whole tenant, without conversations.
const USAGE: &str = "/v1/admin/usage";
/// The conversation of a call is known only after the call was read: the handler records it.
pub const PROVIDER_LOG: &str = "/v1/admin/provider-logs/{id}";
/// The operations that name a conversation begin with it.
const CONVERSATION: &str = "/v1/admin/conversations/{id}";
const EXPORT: &str = "/v1/admin/conversations/{id}/export";

/// Records the operation of a request.
///
/// # Errors
/// As [`record`].
pub(super) async fn record_request(
    state: &HttpState,
    (tenant, actor): (&TenantAccess, &Actor),
    parts: &mut Parts,
) -> Result<(), HttpProblem> {
    let path = parts.extensions.get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    if [USAGE, PROVIDER_LOG].contains(&path.as_str()) {
        return Ok(());
    }
    let conversation = if path.starts_with(CONVERSATION) { conversation(parts, state).await } else { None };
    let action = action(&parts.method, &path);
    record(state, (tenant, actor), action, (&format!("{} {path}", parts.method), conversation.as_deref())).await
}

fn action(method: &Method, path: &str) -> DashboardAction {
    match *method {
        Method::GET if path == EXPORT => DashboardAction::Exported,
        Method::GET | Method::HEAD => DashboardAction::Viewed,
        _ => DashboardAction::Changed,
    }
}

async fn conversation(parts: &mut Parts, state: &HttpState) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, state).await.ok()?;
    params.iter().find(|(name, _)| *name == "id").map(|(_, id)| id.to_owned())
}

/// Records what an administrator does: the operation without values of the request, and the conversation. An id that no conversation can
/// have is left out.
///
/// # Errors
/// 503 if the writer does not record it.
pub async fn record(
    state: &HttpState,
    (tenant, actor): (&TenantAccess, &Actor),
    action: DashboardAction,
    (operation, conversation): (&str, Option<&str>),
) -> Result<(), HttpProblem> {
    let conversation = conversation.filter(|id| ConversationId::parse(*id).is_ok());
    let read = AuditedRead {
        reader: Some(Reader::Administrator(actor.0.as_str().to_owned())),
        action: action.into(),
        conversation_id: conversation.unwrap_or_default().to_owned(),
        detail: operation.to_owned(),
    };
    let tenant = tenant.tenant();
    let request = RecordReadsRequest {
        tenant_id: tenant.to_string(),
        idempotency_key: state.gateway.new_key().to_string(),
        reads: vec![read],
    };
    let mut registry = state.commands.registry();
    registry.record_reads(request).await.map(drop).map_err(|status| {
        tracing::warn!(tenant.id = tenant.as_str(), code = ?status.code(), "a read of an administrator is not in the audit log");
        let message = "the audit log does not answer, and reads of administrators are recorded first: try again";
        HttpProblem::from(Problem::new(Reason::RecordUnavailable, message).retry_after(RETRY_AFTER))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_an_action() {
        for (method, path, expected) in [
            (Method::GET, "/v1/admin/conversations", DashboardAction::Viewed),
            (Method::HEAD, CONVERSATION, DashboardAction::Viewed),
            (Method::GET, EXPORT, DashboardAction::Exported),
            (Method::POST, "/v1/admin/conversations/{id}/approvals", DashboardAction::Changed),
        ] {
            assert_eq!(action(&method, path), expected, "{method} {path}");
        }
    }
}
