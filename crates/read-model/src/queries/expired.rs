//! Finds conversations that a retention rule expires. Pages use the indexes of the listings, so the cost of a page depends
//! neither on the number of conversations nor on previous pages.

use std::sync::LazyLock;

use domain::{AgentId, ChannelId, ConversationId, Head, SessionId, Status, TenantAccess, Timestamp, UserId, Violation};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::list_conversations::{CONVERSATIONS_PER_READ_MAX, ListCursor, statuses};
use super::statements::by_owner;
use crate::arguments::{arguments, bind};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;
use crate::row::head_of;

/// Maximum number of conversations per owner that a rule can keep: a read scans this many per owner.
pub const KEPT_PER_OWNER_MAX: u32 = 10_000;
/// Maximum number of owners of one read.
pub const OWNERS_PER_READ_MAX: u32 = 50;
/// Maximum number of conversations of one owner that one read returns. Later reads find the rest, when these are gone.
pub const SURPLUS_PER_OWNER_MAX: u32 = CONVERSATIONS_PER_READ_MAX / OWNERS_PER_READ_MAX;

static EXPIRED_BY_OWNER: LazyLock<[String; 3]> = LazyLock::new(|| by_owner(include_str!("expired_by_owner.sql")));

/// A retention rule of an agent, with the position of its next page: `after` is `None` for the first page.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ExpiryRule {
    /// Active and archived conversations without events since a time.
    Idle {
        /// The last event is earlier than this; rounded down to the microsecond.
        since: Timestamp,
        /// The last conversation of the previous page.
        after: Option<ListCursor>,
    },
    /// Active and archived conversations of each anonymous session beyond its newest ones, by last event.
    PerSession {
        /// Number of conversations to keep, capped at [`KEPT_PER_OWNER_MAX`].
        keep: u32,
        /// The last session of the previous page.
        after: Option<SessionId>,
    },
    /// Active and archived conversations of each user beyond the newest ones, by last event.
    PerUser {
        /// Number of conversations to keep, capped at [`KEPT_PER_OWNER_MAX`].
        keep: u32,
        /// The last user of the previous page.
        after: Option<UserId>,
    },
    /// Active and archived conversations of each channel beyond its newest ones, by last event.
    PerChannel {
        /// Number of conversations to keep, capped at [`KEPT_PER_OWNER_MAX`].
        keep: u32,
        /// The last channel of the previous page.
        after: Option<ChannelId>,
    },
    /// Active conversations of sessions with nothing but their creation, recorded before a time.
    Empty {
        /// The creation was recorded earlier than this.
        since: Timestamp,
        /// The last conversation of the previous page.
        after: Option<ConversationId>,
    },
    /// Active conversations with too many messages. Each page scans [`CONVERSATIONS_PER_READ_MAX`] active conversations,
    /// because no index covers the number of messages.
    Long {
        /// Maximum number of messages of a conversation.
        messages_max: u64,
        /// The last conversation that the previous page scanned.
        after: Option<ListCursor>,
    },
}

/// A conversation that a rule expires, from its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredConversation {
    /// The conversation.
    pub id: ConversationId,
    /// Its head. Commands must require its version, because the record may be ahead of the row.
    pub head: Head,
}

/// A page of expired conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredPage {
    /// At most [`CONVERSATIONS_PER_READ_MAX`] conversations: idle ones from the oldest, long ones from the newest, empty ones by id, others
    /// by owner and from the oldest. An empty page may be followed by others.
    pub conversations: Vec<ExpiredConversation>,
    /// The rule of the next page; `None`: this is the last page.
    pub next: Option<ExpiryRule>,
}

/// A page of the conversations of an agent that the rule expires, according to the rows.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn expired_conversations(
    model: &ReadModel,
    access: &TenantAccess,
    agent: &AgentId,
    rule: &ExpiryRule,
) -> Result<ExpiredPage, ReadModelError> {
    let rows = model.read(access, statement(rule), || arguments(access, agent, rule)).await?;
    let mut conversations = Vec::new();
    for row in &rows {
        let found = found(access, row)?;
        conversations.extend(found.filter(|found| is_expired(rule, &found.head)));
    }
    let last = rows.last();
    Ok(ExpiredPage { conversations, next: last.map(|last| next_rule(access, rule, last)).transpose()? })
}

fn statement(rule: &ExpiryRule) -> &'static str {
    let [by_session, by_user, by_channel] = &*EXPIRED_BY_OWNER;
    match rule {
        ExpiryRule::Idle { .. } => include_str!("expired_idle.sql"),
        ExpiryRule::PerSession { .. } => by_session,
        ExpiryRule::PerUser { .. } => by_user,
        ExpiryRule::PerChannel { .. } => by_channel,
        ExpiryRule::Empty { .. } => include_str!("expired_empty.sql"),
        ExpiryRule::Long { .. } => include_str!("expired_long.sql"),
    }
}

/// The condition that the statement does not check.
fn is_expired(rule: &ExpiryRule, head: &Head) -> bool {
    match rule {
        ExpiryRule::Empty { since, .. } => head.recorded_at < *since,
        ExpiryRule::Long { messages_max, .. } => head.totals.messages > *messages_max,
        ExpiryRule::Idle { .. }
        | ExpiryRule::PerSession { .. }
        | ExpiryRule::PerUser { .. }
        | ExpiryRule::PerChannel { .. } => true,
    }
}

fn arguments(access: &TenantAccess, agent: &AgentId, rule: &ExpiryRule) -> PgArguments {
    let (tenant, agent) = (access.tenant().as_str(), agent.as_str());
    let with_status = |status| arguments![tenant, agent, statuses(status)];
    match rule {
        ExpiryRule::Idle { since, after } => {
            let arguments = bind(
                bind_cursor(with_status(None), after.as_ref(), PgTimestamp::NEGATIVE_INFINITY),
                PgTimestamp::from_time(*since),
            );
            bind(arguments, i64::from(CONVERSATIONS_PER_READ_MAX))
        }
        ExpiryRule::Empty { after, .. } => {
            let after = after.as_ref().map_or("", ConversationId::as_str);
            arguments![tenant, agent, after, i64::from(CONVERSATIONS_PER_READ_MAX)]
        }
        ExpiryRule::Long { after, .. } => {
            let arguments = bind_cursor(with_status(Some(Status::Active)), after.as_ref(), PgTimestamp::INFINITY);
            bind(arguments, i64::from(CONVERSATIONS_PER_READ_MAX))
        }
        ExpiryRule::PerSession { keep, after } => {
            bind_owners(with_status(None), after.as_ref().map(SessionId::as_str), *keep)
        }
        ExpiryRule::PerUser { keep, after } => {
            bind_owners(with_status(None), after.as_ref().map(UserId::as_str), *keep)
        }
        ExpiryRule::PerChannel { keep, after } => {
            bind_owners(with_status(None), after.as_ref().map(ChannelId::as_str), *keep)
        }
    }
}

/// The start of the page: the cursor, or `begin` for the first page.
fn bind_cursor(arguments: PgArguments, after: Option<&ListCursor>, begin: PgTimestamp) -> PgArguments {
    let time = after.map_or(begin, |cursor| PgTimestamp::from_time(cursor.last_event_at));
    let conversation = after.map_or("", |cursor| cursor.conversation.as_str());
    bind(bind(arguments, time), conversation)
}

fn bind_owners(arguments: PgArguments, after: Option<&str>, keep: u32) -> PgArguments {
    let arguments = bind(
        bind(bind(arguments, after.unwrap_or_default()), i64::from(keep.min(KEPT_PER_OWNER_MAX))),
        i64::from(OWNERS_PER_READ_MAX),
    );
    bind(arguments, i64::from(SURPLUS_PER_OWNER_MAX))
}

fn next_rule(access: &TenantAccess, rule: &ExpiryRule, last: &PgRow) -> Result<ExpiryRule, ReadModelError> {
    Ok(match rule {
        ExpiryRule::Idle { since, .. } => ExpiryRule::Idle { since: *since, after: cursor(access, last)? },
        ExpiryRule::Empty { since, .. } => ExpiryRule::Empty { since: *since, after: conversation(access, last)? },
        ExpiryRule::Long { messages_max, .. } => {
            ExpiryRule::Long { messages_max: *messages_max, after: cursor(access, last)? }
        }
        ExpiryRule::PerSession { keep, .. } => {
            ExpiryRule::PerSession { keep: *keep, after: owner(access, last, "session_id", SessionId::parse)? }
        }
        ExpiryRule::PerUser { keep, .. } => {
            ExpiryRule::PerUser { keep: *keep, after: owner(access, last, "user_id", UserId::parse)? }
        }
        ExpiryRule::PerChannel { keep, .. } => {
            ExpiryRule::PerChannel { keep: *keep, after: owner(access, last, "channel_id", ChannelId::parse)? }
        }
    })
}

fn owner<T>(
    access: &TenantAccess,
    row: &PgRow,
    column: &str,
    parse: fn(String) -> Result<T, Violation>,
) -> Result<Option<T>, ReadModelError> {
    let owner = parse(row.try_get(column)?);
    owner.map(Some).map_err(|_| corrupt(access, column))
}

/// The cursor after a row with the time of the last event.
fn cursor(access: &TenantAccess, row: &PgRow) -> Result<Option<ListCursor>, ReadModelError> {
    let time: PgTimestamp = row.try_get("last_event_at")?;
    let cursor = |conversation| ListCursor { last_event_at: time.with_nanos(0), conversation };
    Ok(conversation(access, row)?.map(cursor))
}

/// The conversation of a row with its head; `None`: the owner has no expired conversation.
fn found(access: &TenantAccess, row: &PgRow) -> Result<Option<ExpiredConversation>, ReadModelError> {
    let Some(id) = conversation(access, row)? else {
        return Ok(None);
    };
    let head = head_of(row.try_get("head")?)
        .map_err(|field| ReadModelError::corrupt("conversation", format!("{}/{id}", access.tenant()), field))?;
    Ok(Some(ExpiredConversation { id, head }))
}

fn conversation(access: &TenantAccess, row: &PgRow) -> Result<Option<ConversationId>, ReadModelError> {
    let id: Option<&str> = row.try_get("conversation_id")?;
    id.map(ConversationId::parse).transpose().map_err(|_| corrupt(access, "conversation_id"))
}

fn corrupt(access: &TenantAccess, field: &str) -> ReadModelError {
    ReadModelError::corrupt("conversation", format!("{}/?", access.tenant()), field)
}
