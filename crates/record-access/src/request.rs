//! Parses and authorizes requests: caller, conversation, freshness, and numbers with bounds.

use domain::{AgentId, CommitId, ConversationId, ConversationKey, Position, Version, Violation, ViolationReason};
use history::{Deadline, Freshness, Target};
use registry::{AgentAccess, Principal, Scope};
use runtime::grpc;
use tonic::Request;
use wire::proto::read::v1 as proto;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;
use wire::token::PositionToken;

use crate::{Gateway, problem};

/// The token and the deadline of a call.
#[derive(Debug, Clone)]
pub struct Call {
    bearer: Option<String>,
    /// The deadline for all dependencies of the call.
    pub deadline: Deadline,
}

impl Call {
    /// The call of a request.
    #[must_use]
    pub fn of<T>(request: &Request<T>) -> Self {
        Self {
            bearer: wire::bearer::from_metadata(request.metadata()).map(str::to_owned),
            deadline: Deadline::until(grpc::Deadline::of(request)),
        }
    }

    /// A call with a bearer token.
    #[must_use]
    pub fn new(bearer: String, deadline: Deadline) -> Self {
        Self { bearer: Some(bearer), deadline }
    }

    /// The caller's bearer token.
    #[must_use]
    pub fn bearer(&self) -> Option<&str> {
        self.bearer.as_deref()
    }

    /// The agent that a request names. Without a name, the agent of a token that is bound to exactly one.
    ///
    /// # Errors
    /// As [`agent_id`].
    pub async fn agent(&self, gateway: &Gateway, text: &str) -> Result<AgentId, Violation> {
        if text.is_empty()
            && let Ok(principal) = self.principal(gateway).await
            && let Some(agent) = principal.only_agent()
        {
            return Ok(agent.clone());
        }
        agent_id(text)
    }

    /// The principal of the token.
    ///
    /// # Errors
    /// The token is missing or invalid.
    pub async fn principal(&self, gateway: &Gateway) -> Result<Principal, Problem> {
        let bearer = self.bearer().ok_or_else(problem::unauthenticated)?;
        let principal = gateway.registry.authenticate(bearer, gateway.now()).await;
        principal.ok_or_else(problem::unauthenticated)
    }

    /// The caller's access to an agent; `field` is the field with the agent id, for errors.
    ///
    /// # Errors
    /// The token is missing or invalid, lacks a scope, or does not include the agent.
    pub async fn authorize(&self, gateway: &Gateway, agent: AgentId, field: &str) -> Result<AgentAccess, Problem> {
        let principal = self.principal(gateway).await?;
        authorize(gateway, &principal, Scope::Read, (&agent, field)).await
    }

    /// The target of a fresh read of a conversation; `field` is the field with the agent id, for errors. Records the read in the audit
    /// log, if the tenant asks for it.
    ///
    /// # Errors
    /// As [`Call::authorize`] and [`Gateway::record_token_read`].
    pub async fn target(
        &self,
        gateway: &Gateway,
        agent: AgentId,
        conversation: ConversationId,
        field: &str,
    ) -> Result<Target, Problem> {
        let principal = self.principal(gateway).await?;
        let access = authorize(gateway, &principal, Scope::Read, (&agent, field)).await?;
        let key = ConversationKey { tenant: access.tenant.tenant().clone(), conversation };
        gateway.record_token_read(&principal, (&access, &key), self.deadline).await?;
        Ok(Target { key, access, freshness: Freshness::Fresh, fence: None, deadline: self.deadline })
    }
}

/// A principal's access to an agent; `field` is the caller's field with the agent id, for errors.
///
/// # Errors
/// The principal lacks the scope; a missing agent and a foreign one look alike.
pub async fn authorize(
    gateway: &Gateway,
    principal: &Principal,
    scope: Scope,
    (agent, field): (&AgentId, &str),
) -> Result<AgentAccess, Problem> {
    let access = gateway.registry.authorize(principal, scope, agent).await;
    access.map_err(|error| problem::access_problem(&error, field))
}

/// The target of a read.
///
/// # Errors
/// The caller has no access, or a field is invalid.
pub async fn read_target(gateway: &Gateway, call: &Call, target: Option<proto::ReadTarget>) -> Result<Target, Problem> {
    let target = target.ok_or_else(|| missing().within("target"))?;
    let within = |violation: Violation| violation.within("target");
    let agent = call.agent(gateway, &target.agent_id).await.map_err(within)?;
    let conversation = conversation_id(&target.conversation_id).map_err(within)?;
    let freshness = freshness(target.consistency).map_err(within)?;
    let authorized = call.target(gateway, agent, conversation, "target.agent_id").await?;
    Ok(Target { fence: fence(gateway, &authorized.key, &target.position_token).await?, freshness, ..authorized })
}

/// Parses an agent id.
///
/// # Errors
/// As [`AgentId::parse`], with the name of the field.
pub fn agent_id(text: &str) -> Result<AgentId, Violation> {
    AgentId::parse(text).map_err(|violation| violation.within("agent_id"))
}

/// Parses an optional idempotency key.
///
/// # Errors
/// It is not a UUID.
pub fn idempotency_key(text: &str) -> Result<Option<CommitId>, Violation> {
    if text.is_empty() {
        return Ok(None);
    }
    let key = CommitId::parse(text).map_err(|violation| violation.within("idempotency_key"));
    key.map(Some)
}

/// Parses a conversation id.
///
/// # Errors
/// As [`ConversationId::parse`], with the name of the field.
pub fn conversation_id(text: &str) -> Result<ConversationId, Violation> {
    ConversationId::parse(text).map_err(|violation| violation.within("conversation_id"))
}

/// Maximum number of position tokens of a request.
pub const POSITION_TOKENS_MAX: usize = 8;

/// A numeric field with a default and a maximum.
#[derive(Debug, Clone, Copy)]
pub struct BoundedNumber {
    /// The name of the field.
    pub field: &'static str,
    /// The value for 0.
    pub default: u32,
    /// The maximum.
    pub max: u32,
}

impl BoundedNumber {
    /// Checks a value; 0 gives the default.
    ///
    /// # Errors
    /// [`ViolationReason::OutOfRange`], with the value and the maximum.
    pub fn take(self, value: u32) -> Result<u32, Violation> {
        match value {
            0 => Ok(self.default),
            value if value <= self.max => Ok(value),
            value => Err(out_of_range(format!("is {value}, the maximum is {}", self.max)).within(self.field)),
        }
    }
}

/// Parses a value of an enum.
///
/// # Errors
/// [`ViolationReason::OutOfRange`]: this version does not define the value.
pub fn parse_enum<E: TryFrom<i32>>(value: i32, field: &str) -> Result<E, Violation> {
    E::try_from(value)
        .map_err(|_| out_of_range(format!("is {value}, which this version does not define")).within(field))
}

/// The violation of a missing field.
#[must_use]
pub fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required")
}

/// The violation of a number outside its range.
#[must_use]
pub fn out_of_range(description: String) -> Violation {
    Violation::new(ViolationReason::OutOfRange, description)
}

/// The first version of a range; 0 means 1.
#[must_use]
pub fn first_version(version: u64) -> Version {
    Version(version.max(1))
}

/// The position of a commit in an answer of the writer; `None`: nothing was recorded, or the token is not of this record.
#[must_use]
pub fn position_of(gateway: &Gateway, result: &CommitResult) -> Option<Position> {
    let token = PositionToken::decode(&result.position_token, gateway.reader.record.id());
    token.ok().map(|token| token.position)
}

/// The positions that an answer must include.
///
/// # Errors
/// There are more than [`POSITION_TOKENS_MAX`], or one is invalid.
pub fn fences(gateway: &Gateway, tokens: &[String]) -> Result<Vec<Position>, Problem> {
    if tokens.len() > POSITION_TOKENS_MAX {
        let description = format!("has {} tokens, at most {POSITION_TOKENS_MAX} are accepted", tokens.len());
        return Err(out_of_range(description).within("position_tokens").into());
    }
    let record = gateway.reader.record.id();
    let tokens = tokens.iter();
    let positions = tokens.map(|token| {
        let token = PositionToken::decode(token, record);
        token.map(|token| token.position).map_err(problem::of_position_token)
    });
    positions.collect()
}

fn freshness(consistency: i32) -> Result<Freshness, Violation> {
    match parse_enum(consistency, "consistency")? {
        proto::Consistency::Unspecified | proto::Consistency::Fresh => Ok(Freshness::Fresh),
        proto::Consistency::Eventual => Ok(Freshness::Eventual),
        proto::Consistency::Leader => Ok(Freshness::Leader),
    }
}

async fn fence(gateway: &Gateway, key: &ConversationKey, token: &str) -> Result<Option<Position>, Problem> {
    if token.is_empty() {
        return Ok(None);
    }
    let token = PositionToken::decode(token, gateway.reader.record.id()).map_err(problem::of_position_token)?;
    let partition = gateway.reader.archive.partition_of(key).await;
    if token.position.partition != partition.map_err(|error| problem::of_record(&error))? {
        return Err(problem::position_token_of_other_conversation());
    }
    Ok(Some(token.position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_default_and_a_maximum() {
        let bounded = BoundedNumber { field: "page_size", default: 50, max: 200 };
        assert_eq!(bounded.take(0), Ok(50));
        assert_eq!(bounded.take(1), Ok(1));
        assert_eq!(bounded.take(200), Ok(200));
        let violation = bounded.take(201).unwrap_err();
        assert_eq!(violation.to_string(), "page_size: is 201, the maximum is 200");
        assert_eq!(violation.reason, ViolationReason::OutOfRange);
    }
}
