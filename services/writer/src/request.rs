//! Converts requests into intents: the caller, the conversation and the command. Pure except for the look-up in the registry.

use domain::{
    Action, AgentId, Command, CommitId, ConversationId, ConversationKey, Expectation, ForkPoint, RequestDigest,
    Version, Violation, ViolationReason,
};
use prost::Message;
use registry::{AgentAccess, Principal, Scope};
use sha2::{Digest as _, Sha256};
use tonic::Request;
use tonic::metadata::MetadataMap;
use wire::proto::write::v1 as proto;
use wire::status::Problem;

use crate::attempt::Attempt;
use crate::{Writer, document_rules, problem};

/// A command to execute.
#[derive(Debug)]
pub(crate) struct Intent {
    pub(crate) access: AgentAccess,
    pub(crate) key: ConversationKey,
    /// Whether the commit id is an idempotency key of the caller, which an earlier attempt may have used.
    pub(crate) has_key: bool,
    /// The path of that key in the request.
    pub(crate) key_field: &'static str,
    pub(crate) request_digest: RequestDigest,
    pub(crate) command: Command,
    /// How another attempt is found, for a request without a key.
    pub(crate) attempt: Option<Attempt>,
    /// The fork point of a new conversation as the caller names it; it may be in an ancestor of that conversation.
    pub(crate) fork_from: Option<ForkPoint>,
}

/// The bearer token of a call. It is checked for each command, so that a revoked token is rejected at once.
#[derive(Debug, Clone)]
pub(crate) struct Caller(Option<String>);

impl Caller {
    pub(crate) fn from_metadata(metadata: &MetadataMap) -> Self {
        Self(wire::bearer::from_metadata(metadata).map(str::to_owned))
    }

    /// Authorizes a scope for an agent; `field` is the field of the agent in the request.
    /// Errors: no valid token, a missing scope, or an agent that the caller may not use.
    pub(crate) async fn authorize(
        &self,
        writer: &Writer,
        scope: Scope,
        agent: &AgentId,
        field: &str,
    ) -> Result<AgentAccess, Problem> {
        let principal = self.principal(writer).await?;
        let access = writer.registry.authorize(&principal, scope, agent).await;
        access.map_err(|error| problem::access_problem(&error, field))
    }

    /// The agent that a request names. Without a name, the agent of a token that is bound to exactly one.
    /// Errors: as [`agent_id`].
    pub(crate) async fn agent(&self, writer: &Writer, text: &str) -> Result<AgentId, Violation> {
        if text.is_empty()
            && let Ok(principal) = self.principal(writer).await
            && let Some(agent) = principal.only_agent()
        {
            return Ok(agent.clone());
        }
        agent_id(text)
    }

    /// The principal of the token.
    /// Errors: no valid token.
    pub(crate) async fn principal(&self, writer: &Writer) -> Result<Principal, Problem> {
        let bearer = self.0.as_deref().ok_or_else(problem::unauthenticated)?;
        writer.registry.authenticate(bearer, writer.now()).await.ok_or_else(problem::unauthenticated)
    }
}

/// Splits a request into its caller, its digest and its message.
pub(crate) fn split<M: Message>(request: Request<M>) -> (Caller, RequestDigest, M) {
    let caller = Caller::from_metadata(request.metadata());
    let message = request.into_inner();
    (caller, digest(&message), message)
}

/// The intent of an action on a target.
/// Errors: a field of the target is invalid, or the caller is not authorized.
pub(crate) async fn intent(
    writer: &Writer,
    caller: &Caller,
    target: Option<&proto::CommandTarget>,
    request_digest: RequestDigest,
    action: Action,
) -> Result<Intent, Problem> {
    let target = target.ok_or_else(|| Violation::new(ViolationReason::Missing, "is required").within("target"))?;
    let within = |violation: Violation| violation.within("target");
    let agent = caller.agent(writer, &target.agent_id).await.map_err(within)?;
    let conversation = conversation_id(&target.conversation_id).map_err(within)?;
    let checked = document_rules::check_action(&conversation, &action);
    checked.map_err(|violation| violation.within("conversation_id").within("target"))?;
    let key = idempotency_key(&target.idempotency_key).map_err(within)?;
    let field = "target.agent_id";
    let scope = scope_of(&action);
    let access = caller.authorize(writer, scope, &agent, field).await?;
    let command = Command {
        commit: key.unwrap_or_else(Writer::new_commit_id),
        agent,
        expectation: target.expected_version.map_or(Expectation::Any, |version| Expectation::Exact(Version(version))),
        action,
    };
    Ok(Intent {
        key: conversation_key(&access, conversation),
        access,
        has_key: key.is_some(),
        key_field: "target.idempotency_key",
        request_digest,
        attempt: None,
        command,
        fork_from: None,
    })
}

/// The key of a conversation of the caller's tenant.
pub(crate) fn conversation_key(access: &AgentAccess, conversation: ConversationId) -> ConversationKey {
    ConversationKey { tenant: access.tenant.tenant().clone(), conversation }
}

/// The required scope of an action.
fn scope_of(action: &Action) -> Scope {
    match action {
        Action::Erase { .. } => Scope::Erase,
        Action::Create(_)
        | Action::Append { .. }
        | Action::Update(_)
        | Action::Archive
        | Action::Restore
        | Action::ChangeOwner { .. }
        | Action::StartRun(_)
        | Action::StopRun(_)
        | Action::FinishRun(_) => Scope::Append,
    }
}

/// The digest of a request by its encoding, which is equal for every retry.
pub(crate) fn digest(request: &impl Message) -> RequestDigest {
    let hash: [u8; 32] = Sha256::digest(request.encode_to_vec()).into();
    let mut short = [0; 16];
    short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    RequestDigest(short)
}

/// Parses the id of an agent.
/// Errors: as [`AgentId::parse`], with the field named.
pub(crate) fn agent_id(text: &str) -> Result<AgentId, Violation> {
    AgentId::parse(text).map_err(|violation| violation.within("agent_id"))
}

/// Parses the id of a conversation.
/// Errors: as [`ConversationId::parse`], with the field named.
pub(crate) fn conversation_id(text: &str) -> Result<ConversationId, Violation> {
    ConversationId::parse(text).map_err(|violation| violation.within("conversation_id"))
}

/// Parses an optional idempotency key.
/// Errors: it is not a UUID.
pub(crate) fn idempotency_key(text: &str) -> Result<Option<CommitId>, Violation> {
    match text {
        "" => Ok(None),
        _ => CommitId::parse(text).map(Some).map_err(|violation| violation.within("idempotency_key")),
    }
}

#[cfg(test)]
mod tests {
    use domain::{ForkRule, RunId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_erasures_need_the_scope_for_them() {
        let check = |action: &Action, expected: Scope| assert_eq!(scope_of(action), expected, "{action:?}");
        for forks in [ForkRule::Refuse, ForkRule::Sever] {
            check(&Action::Erase { expected: None, forks }, Scope::Erase);
        }
        check(&Action::Append { events: Vec::new(), expected: None }, Scope::Append);
        check(&Action::Update(Box::default()), Scope::Append);
        check(&Action::Archive, Scope::Append);
        check(&Action::Restore, Scope::Append);
        check(&Action::StopRun(RunId(Uuid::nil())), Scope::Append);
    }

    #[test]
    fn equal_requests_have_equal_digests() {
        let request = |id: &str| proto::CommandTarget { agent_id: id.to_owned(), ..proto::CommandTarget::default() };
        assert_eq!(digest(&request("a")), digest(&request("a")));
        assert_ne!(digest(&request("a")), digest(&request("b")));
    }

    #[test]
    fn an_idempotency_key_is_optional() {
        assert_eq!(idempotency_key(""), Ok(None));
        let key = CommitId(Uuid::from_u128(7));
        assert_eq!(idempotency_key(&key.to_string()), Ok(Some(key)));
        assert_eq!(idempotency_key("7").unwrap_err().field, "idempotency_key");
    }
}
