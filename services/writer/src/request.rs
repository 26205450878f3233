//! Requests become intents: who asks, where it goes, and what should happen. Pure but for the registry's look-up.

use domain::{
    Action, AgentId, Command, CommitId, ConversationId, ConversationKey, Expectation,
    RequestDigest, Version, Violation, ViolationReason,
};
use event_log::registry::{AgentAccess, Principal, Scope};
use prost::Message;
use sha2::{Digest as _, Sha256};
use tonic::metadata::MetadataMap;
use wire::proto::write::v1 as proto;
use wire::status::Problem;

use crate::intent::Intent;
use crate::{Writer, problem};

/// Who calls: the bearer token, checked anew for each command, so that a revoked one ends at once.
#[derive(Debug, Clone)]
pub struct Caller(Option<String>);

impl Caller {
    /// The caller of a request.
    #[must_use]
    pub fn of(metadata: &MetadataMap) -> Self {
        Self(wire::bearer::of(metadata).map(str::to_owned))
    }

    /// Leave to append for an agent, which the request names in `field`.
    ///
    /// # Errors
    /// As [`Caller::authorize_for`].
    pub async fn authorize(
        &self,
        writer: &Writer,
        agent: &AgentId,
        field: &str,
    ) -> Result<AgentAccess, Problem> {
        self.authorize_for(writer, Scope::Append, agent, field)
            .await
    }

    /// Leave to do for an agent what a scope allows; `field`: where the request names the agent.
    ///
    /// # Errors
    /// No valid token, a missing scope, or an agent that is not the caller's to use.
    pub async fn authorize_for(
        &self,
        writer: &Writer,
        scope: Scope,
        agent: &AgentId,
        field: &str,
    ) -> Result<AgentAccess, Problem> {
        let principal = self.principal(writer).await?;
        let access = writer.registry.authorize(&principal, scope, agent).await;
        access.map_err(|error| problem::of_access(&error, field))
    }

    /// Whom the token names.
    ///
    /// # Errors
    /// No valid token.
    pub async fn principal(&self, writer: &Writer) -> Result<Principal, Problem> {
        let bearer = self.0.as_deref().ok_or_else(problem::unauthenticated)?;
        writer
            .registry
            .authenticate(bearer)
            .await
            .ok_or_else(problem::unauthenticated)
    }
}

/// The intent of a command with a target.
///
/// # Errors
/// A field of the target breaks a rule, or the caller may not.
pub async fn intent(
    writer: &Writer,
    caller: &Caller,
    target: Option<&proto::CommandTarget>,
    asked: Asked,
) -> Result<Intent, Problem> {
    let target = target
        .ok_or_else(|| Violation::new(ViolationReason::Missing, "is required").within("target"))?;
    let within = |violation: Violation| violation.within("target");
    let agent = agent_id(&target.agent_id).map_err(within)?;
    let conversation = conversation_id(&target.conversation_id).map_err(within)?;
    let key = idempotency_key(&target.idempotency_key).map_err(within)?;
    let scope = scope_of(&asked.action);
    let access = caller
        .authorize_for(writer, scope, &agent, "target.agent_id")
        .await?;
    let command = Command {
        commit: key.unwrap_or_else(Writer::new_commit_id),
        agent,
        expectation: target.expected_version.map_or(Expectation::Any, |version| {
            Expectation::Exact(Version(version))
        }),
        action: asked.action,
    };
    Ok(Intent {
        key: ConversationKey {
            tenant: access.tenant.tenant().clone(),
            conversation,
        },
        access,
        has_key: key.is_some(),
        key_field: "target.idempotency_key",
        request_digest: asked.digest,
        command,
        forks: None,
    })
}

/// The scope that an action needs.
fn scope_of(action: &Action) -> Scope {
    match action {
        Action::Erase { .. } => Scope::Erase,
        Action::Create { .. }
        | Action::Append(_)
        | Action::Update(_)
        | Action::Archive
        | Action::Restore
        | Action::ChangeOwner { .. }
        | Action::StartRun(_)
        | Action::StopRun(_)
        | Action::FinishRun(_) => Scope::Append,
    }
}

/// What was asked for: the action, and the digest of the whole request.
#[derive(Debug)]
pub struct Asked {
    /// The digest, which tells a retry from another request.
    pub digest: RequestDigest,
    /// What should happen.
    pub action: Action,
}

/// The digest of a request: over its encoding, which is the same for every retry.
#[must_use]
pub fn digest(request: &impl Message) -> RequestDigest {
    let hash: [u8; 32] = Sha256::digest(request.encode_to_vec()).into();
    let mut short = [0; 16];
    short.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    RequestDigest(short)
}

/// An agent's id.
///
/// # Errors
/// As [`AgentId::parse`], with the field named.
pub fn agent_id(text: &str) -> Result<AgentId, Violation> {
    AgentId::parse(text).map_err(|violation| violation.within("agent_id"))
}

/// A conversation's id.
///
/// # Errors
/// As [`ConversationId::parse`], with the field named.
pub fn conversation_id(text: &str) -> Result<ConversationId, Violation> {
    ConversationId::parse(text).map_err(|violation| violation.within("conversation_id"))
}

/// An idempotency key, where one is given.
///
/// # Errors
/// Not a UUID.
pub fn idempotency_key(text: &str) -> Result<Option<CommitId>, Violation> {
    match text {
        "" => Ok(None),
        _ => CommitId::parse(text)
            .map(Some)
            .map_err(|violation| violation.within("idempotency_key")),
    }
}
