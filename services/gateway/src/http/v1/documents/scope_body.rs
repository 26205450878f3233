//! Whose documents a request names, and the name of a document.

use domain::{
    ChannelId, ConversationId, DocumentName, DocumentNamespace, Owner, SessionId, UserId, Violation, ViolationReason,
};
use history::Deadline;
use registry::{AgentAccess, Scope};
use runtime::http::HttpProblem;
use serde::Deserialize;
use utoipa::ToSchema;

use conversations::documents::{Change, DocumentLocation, DocumentScope};
use http_listener::callers::service::Service;
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;

/// Whose documents: at most one member. Without any, the agent's own.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "members say whose id they are")]
pub struct ScopeBody {
    /// A user of the agent; 1 to 256 bytes.
    user_id: Option<String>,
    /// A session of the agent; 1 to 256 bytes.
    session_id: Option<String>,
    /// A channel of the agent; 64 of `0-9 a-f`.
    channel_id: Option<String>,
    /// A conversation with other events. Only for reads.
    conversation_id: Option<String>,
}

impl ScopeBody {
    fn parse(self) -> Result<DocumentScope, HttpProblem> {
        let user = self.user_id.map(|id| owner(UserId::parse(id), Owner::User, "userId"));
        let session = self.session_id.map(|id| owner(SessionId::parse(id), Owner::Session, "sessionId"));
        let channel = self.channel_id.map(|id| owner(ChannelId::parse(id), Owner::Channel, "channelId"));
        let conversation = self.conversation_id.map(|id| {
            let id = ConversationId::parse(id).map(DocumentScope::Conversation);
            id.map_err(|violation| violation.within("conversationId"))
        });
        let mut given = [user, session, channel, conversation].into_iter().flatten();
        let scope = given.next().unwrap_or(Ok(DocumentScope::Agent));
        if given.next().is_some() {
            let detail = "has several members: send at most one";
            return Err(HttpProblem::of_field(ViolationReason::Conflict, "scope", detail));
        }
        scope.map_err(|violation| HttpProblem::from(violation.within("scope")))
    }
}

fn owner<T>(id: Result<T, Violation>, owner: fn(T) -> Owner, field: &str) -> Result<DocumentScope, Violation> {
    id.map(|id| DocumentScope::Owner(owner(id))).map_err(|violation| violation.within(field))
}

/// The caller's permission, and whose documents the request names.
///
/// # Errors
/// 400: a member breaks a rule; 403 without one of the scopes; 404 for a missing agent and for a foreign one.
pub(super) async fn authorize(
    state: &HttpState,
    service: &Service,
    scopes: &[Scope],
    scope: Option<ScopeBody>,
) -> Result<(AgentAccess, DocumentScope), HttpProblem> {
    let scope = scope.unwrap_or_default().parse()?;
    let access = service.access(state, Scope::Read, None).await?;
    for scope in scopes {
        service.access(state, *scope, None).await?;
    }
    Ok((access, scope))
}

/// The location of the document that the request names.
///
/// # Errors
/// As [`authorize`].
pub(super) async fn locate(
    state: &HttpState,
    service: &Service,
    scopes: &[Scope],
    scope: Option<ScopeBody>,
    name: (Vec<String>, String),
) -> Result<DocumentLocation, HttpProblem> {
    let name = DocumentName::parse(name.0, name.1)?;
    let (access, scope) = authorize(state, service, scopes, scope).await?;
    let deadline: Deadline = service.call.deadline;
    scope.locate(&state.gateway, access, name, deadline).map_err(HttpProblem::from)
}

/// A change of a document.
pub(super) fn change<'call>(
    state: &'call HttpState,
    service: &'call Service,
    location: &'call DocumentLocation,
    expected: Option<u64>,
    key: IdempotencyKey,
) -> Change<'call> {
    Change {
        gateway: &state.gateway,
        commands: &state.commands,
        call: &service.call,
        location,
        expected,
        key: key.0,
        now: state.now(),
    }
}

/// The first or last labels of namespaces.
///
/// # Errors
/// 400: a label breaks a rule.
pub(super) fn labels(labels: Option<Vec<String>>, field: &str) -> Result<DocumentNamespace, HttpProblem> {
    let labels = DocumentNamespace::parse_prefix(labels.unwrap_or_default());
    labels.map_err(|violation| HttpProblem::from(violation.within(field)))
}
