//! What a rule of retention no longer keeps. Found in pages, by the listings' indexes: the cost of a page grows neither
//! with the agent's conversations nor with the pages before it.

use domain::{
    AgentId, ChannelId, ConversationId, Head, SessionId, Status, TenantAccess, Timestamp, UserId,
};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::bind;
use super::list_conversations::{CONVERSATIONS_PER_READ_MAX, ListCursor, statuses};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;
use crate::row::head_of;

/// Most conversations of each owner that a rule can keep, whatever it asks for: so many are walked for each.
pub const KEPT_PER_OWNER_MAX: u32 = 10_000;
/// Most owners whose conversations one read counts.
pub const OWNERS_PER_READ_MAX: u32 = 50;
/// Most conversations of one owner that one read finds. The rest are found when these are gone.
pub const SURPLUS_PER_OWNER_MAX: u32 = CONVERSATIONS_PER_READ_MAX / OWNERS_PER_READ_MAX;

/// Which of an agent's conversations a rule no longer keeps as they are. Where each rule's `after` is `None`, it begins;
/// else it goes on behind what it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ExpiryRule {
    /// Those, active and archived, in which nothing has happened since a time.
    Idle {
        /// Their last event is earlier than this; to the microsecond, rounded down.
        since: Timestamp,
        /// The last conversation of the page before.
        after: Option<ListCursor>,
    },
    /// Of each anonymous session's, active and archived, those beyond the newest ones, by last event.
    PerSession {
        /// How many to keep; [`KEPT_PER_OWNER_MAX`] at most.
        keep: u32,
        /// The last session of the page before.
        after: Option<SessionId>,
    },
    /// Of each user's, active and archived, those beyond the newest ones, by last event.
    PerUser {
        /// How many to keep; [`KEPT_PER_OWNER_MAX`] at most.
        keep: u32,
        /// The last user of the page before.
        after: Option<UserId>,
    },
    /// Of each channel's, active and archived, those beyond the newest ones, by last event.
    PerChannel {
        /// How many to keep; [`KEPT_PER_OWNER_MAX`] at most.
        keep: u32,
        /// The last channel of the page before.
        after: Option<ChannelId>,
    },
    /// Those that are active and hold too many messages. Each page looks at [`CONVERSATIONS_PER_READ_MAX`] of the active
    /// ones: no row tells it apart.
    Long {
        /// Most messages that one may hold.
        messages_max: u64,
        /// The last conversation that the page before looked at.
        after: Option<ListCursor>,
    },
}

/// A conversation that a rule no longer keeps as it is, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its head: whoever acts on it names its version, since a row may be behind the record.
    pub head: Head,
}

/// A page of what a rule no longer keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// The conversations, at most [`CONVERSATIONS_PER_READ_MAX`]: of the idle the oldest first, of the long the newest,
    /// else by owner, of each the oldest of the page first. There may be none on a page, and more on the next.
    pub conversations: Vec<ExpiredConversation>,
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
    let mut conversations = Vec::new();
    for row in &rows {
        let found = found(access, row)?;
        conversations.extend(found.filter(|found| is_expired(rule, &found.head)));
    }
    let last = rows.last();
    Ok(Expired {
        conversations,
        next: last.map(|last| behind(access, rule, last)).transpose()?,
    })
}

fn statement(rule: &ExpiryRule) -> &'static str {
    match rule {
        ExpiryRule::Idle { .. } => include_str!("expired_idle.sql"),
        ExpiryRule::PerSession { .. } => include_str!("expired_by_session.sql"),
        ExpiryRule::PerUser { .. } => include_str!("expired_by_user.sql"),
        ExpiryRule::PerChannel { .. } => include_str!("expired_by_channel.sql"),
        ExpiryRule::Long { .. } => include_str!("expired_long.sql"),
    }
}

/// What the statement leaves to this side.
fn is_expired(rule: &ExpiryRule, head: &Head) -> bool {
    match rule {
        ExpiryRule::Long { messages_max, .. } => head.totals.messages > *messages_max,
        ExpiryRule::Idle { .. }
        | ExpiryRule::PerSession { .. }
        | ExpiryRule::PerUser { .. }
        | ExpiryRule::PerChannel { .. } => true,
    }
}

fn arguments(access: &TenantAccess, agent: &AgentId, rule: &ExpiryRule) -> PgArguments {
    let status = match rule {
        ExpiryRule::Long { .. } => Some(Status::Active),
        ExpiryRule::Idle { .. }
        | ExpiryRule::PerSession { .. }
        | ExpiryRule::PerUser { .. }
        | ExpiryRule::PerChannel { .. } => None,
    };
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = bind(bind(arguments, agent.as_str()), statuses(status));
    match rule {
        ExpiryRule::Idle { since, after } => {
            let arguments = bind_cursor(arguments, after.as_ref(), Moment::NEGATIVE_INFINITY);
            let arguments = bind(arguments, Moment::of(*since));
            bind(arguments, i64::from(CONVERSATIONS_PER_READ_MAX))
        }
        ExpiryRule::Long { after, .. } => {
            let arguments = bind_cursor(arguments, after.as_ref(), Moment::INFINITY);
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
        ExpiryRule::PerChannel { keep, after } => {
            let after = after.as_ref().map_or("", ChannelId::as_str);
            bind_owners(bind(arguments, after), *keep)
        }
    }
}

/// Where the page begins: behind the cursor, or at the end of time from which its rule goes.
fn bind_cursor(arguments: PgArguments, after: Option<&ListCursor>, begin: Moment) -> PgArguments {
    let moment = after.map_or(begin, |cursor| Moment::of(cursor.last_event_at));
    let conversation = after.map_or("", |cursor| cursor.conversation.as_str());
    bind(bind(arguments, moment), conversation)
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
        ExpiryRule::Idle { since, .. } => ExpiryRule::Idle {
            since: *since,
            after: cursor(access, last)?,
        },
        ExpiryRule::Long { messages_max, .. } => ExpiryRule::Long {
            messages_max: *messages_max,
            after: cursor(access, last)?,
        },
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
        ExpiryRule::PerChannel { keep, .. } => {
            let channel = ChannelId::parse(last.try_get::<&str, _>(1)?);
            ExpiryRule::PerChannel {
                keep: *keep,
                after: Some(channel.map_err(|_| corrupt(access, "channel_id"))?),
            }
        }
    })
}

/// The cursor behind a row that has the time of the last event.
fn cursor(access: &TenantAccess, row: &PgRow) -> Result<Option<ListCursor>, ReadModelError> {
    let moment: Moment = row.try_get(1)?;
    let cursor = |conversation| ListCursor {
        last_event_at: moment.plus(0),
        conversation,
    };
    Ok(conversation(access, row)?.map(cursor))
}

/// The row's conversation with its head; `None` where its owner has none to spare.
fn found(
    access: &TenantAccess,
    row: &PgRow,
) -> Result<Option<ExpiredConversation>, ReadModelError> {
    let Some(id) = conversation(access, row)? else {
        return Ok(None);
    };
    let head = head_of(row.try_get(2)?).map_err(|field| ReadModelError::Corrupt {
        table: "conversation",
        row: format!("{}/{id}", access.tenant()),
        field,
    })?;
    Ok(Some(ExpiredConversation { id, head }))
}

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
