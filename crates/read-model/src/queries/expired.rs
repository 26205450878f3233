//! What a rule of retention no longer keeps. Found in pages, by the listings' indexes: the cost of a page grows neither
//! with the agent's conversations nor with the pages before it.

use domain::{AgentId, ConversationId, SessionId, TenantAccess, Timestamp, UserId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::bind;
use super::list_conversations::{CONVERSATIONS_PER_READ_MAX, ListCursor, statuses};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;

/// Most conversations of each owner that a rule can keep, whatever it asks for: so many are walked for each.
pub const KEPT_PER_OWNER_MAX: u32 = 10_000;
/// Most owners whose conversations one read counts.
pub const OWNERS_PER_READ_MAX: u32 = 50;
/// Most conversations of one owner that one read finds. The rest are found when these are gone.
pub const SURPLUS_PER_OWNER_MAX: u32 = CONVERSATIONS_PER_READ_MAX / OWNERS_PER_READ_MAX;

/// Which of an agent's conversations, active and archived, have had their time. Where each rule's `after` is `None`, it
/// begins; else it goes on behind what it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ExpiryRule {
    /// Those in which nothing has happened since a time.
    Idle {
        /// Their last event is earlier than this; to the microsecond, rounded down.
        since: Timestamp,
        /// The last conversation of the page before.
        after: Option<ListCursor>,
    },
    /// Of each anonymous session, those beyond the newest ones, by last event.
    PerSession {
        /// How many to keep; [`KEPT_PER_OWNER_MAX`] at most.
        keep: u32,
        /// The last session of the page before.
        after: Option<SessionId>,
    },
    /// Of each user, those beyond the newest ones, by last event.
    PerUser {
        /// How many to keep; [`KEPT_PER_OWNER_MAX`] at most.
        keep: u32,
        /// The last user of the page before.
        after: Option<UserId>,
    },
}

/// A page of what a rule no longer keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The conversations, at most [`CONVERSATIONS_PER_READ_MAX`]: of the idle the oldest first, else by owner, of each the
    /// oldest of the page first. There may be none on a page, and more on the next.
    pub conversations: Vec<ConversationId>,
    /// The rule of the next page; `None`: there is none.
    pub next: Option<ExpiryRule>,
}

/// A page of the conversations of the tenant's agent that the rule no longer keeps, as far as they are projected.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn expired(
    model: &ReadModel,
    access: &TenantAccess,
    agent: &AgentId,
    rule: &ExpiryRule,
) -> Result<Expired, ReadModelError> {
    let rows = model
        .read(access, statement(rule), || arguments(access, agent, rule))
        .await?;
    let found = rows.iter().map(|row| conversation(access, row));
    let found: Vec<Option<ConversationId>> = found.collect::<Result<_, _>>()?;
    let last = rows.last();
    Ok(Expired {
        conversations: found.into_iter().flatten().collect(),
        next: last.map(|last| behind(access, rule, last)).transpose()?,
    })
}

fn statement(rule: &ExpiryRule) -> &'static str {
    match rule {
        ExpiryRule::Idle { .. } => include_str!("expired_idle.sql"),
        ExpiryRule::PerSession { .. } => include_str!("expired_by_session.sql"),
        ExpiryRule::PerUser { .. } => include_str!("expired_by_user.sql"),
    }
}

fn arguments(access: &TenantAccess, agent: &AgentId, rule: &ExpiryRule) -> PgArguments {
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = bind(bind(arguments, agent.as_str()), statuses(None));
    match rule {
        ExpiryRule::Idle { since, after } => {
            let moment = |cursor: &ListCursor| Moment::of(cursor.last_event_at);
            let moment = after.as_ref().map_or(Moment::NEGATIVE_INFINITY, moment);
            let conversation = after
                .as_ref()
                .map_or("", |cursor| cursor.conversation.as_str());
            let arguments = bind(bind(arguments, moment), conversation);
            let arguments = bind(arguments, Moment::of(*since));
            bind(arguments, i64::from(CONVERSATIONS_PER_READ_MAX))
        }
        ExpiryRule::PerSession { keep, after } => {
            let after = after.as_ref().map_or("", SessionId::as_str);
            bind_owners(bind(arguments, after), *keep)
        }
        ExpiryRule::PerUser { keep, after } => {
            let after = after.as_ref().map_or("", UserId::as_str);
            bind_owners(bind(arguments, after), *keep)
        }
    }
}

fn bind_owners(arguments: PgArguments, keep: u32) -> PgArguments {
    let arguments = bind(arguments, i64::from(keep.min(KEPT_PER_OWNER_MAX)));
    let arguments = bind(arguments, i64::from(OWNERS_PER_READ_MAX));
    bind(arguments, i64::from(SURPLUS_PER_OWNER_MAX))
}

/// The rule that goes on behind a row.
fn behind(
    access: &TenantAccess,
    rule: &ExpiryRule,
    last: &PgRow,
) -> Result<ExpiryRule, ReadModelError> {
    Ok(match rule {
        ExpiryRule::Idle { since, .. } => {
            let moment: Moment = last.try_get(1)?;
            let cursor = |conversation| ListCursor {
                last_event_at: moment.plus(0),
                conversation,
            };
            ExpiryRule::Idle {
                since: *since,
                after: conversation(access, last)?.map(cursor),
            }
        }
        ExpiryRule::PerSession { keep, .. } => {
            let session = SessionId::parse(last.try_get::<&str, _>(1)?);
            ExpiryRule::PerSession {
                keep: *keep,
                after: Some(session.map_err(|_| corrupt(access, "session_id"))?),
            }
        }
        ExpiryRule::PerUser { keep, .. } => {
            let user = UserId::parse(last.try_get::<&str, _>(1)?);
            ExpiryRule::PerUser {
                keep: *keep,
                after: Some(user.map_err(|_| corrupt(access, "user_id"))?),
            }
        }
    })
}

/// The row's conversation; `None` where its owner has none to spare.
fn conversation(
    access: &TenantAccess,
    row: &PgRow,
) -> Result<Option<ConversationId>, ReadModelError> {
    let id: Option<&str> = row.try_get(0)?;
    id.map(ConversationId::parse)
        .transpose()
        .map_err(|_| corrupt(access, "conversation_id"))
}

fn corrupt(access: &TenantAccess, field: &str) -> ReadModelError {
    ReadModelError::Corrupt {
        table: "conversation",
        row: format!("{}/?", access.tenant()),
        field: field.to_owned(),
    }
}
