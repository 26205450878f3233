//! Lists conversations by last event, the newest first.
//!
//! Keyset pagination: a page starts after the last row of the previous page, and each filter has an index. So the cost of a
//! page depends neither on previous pages nor on the size of the tenant.

use std::cmp::Ordering;
use std::sync::LazyLock;

use domain::{
    AgentId, ChannelId, Conversation, ConversationId, Owner, SessionId, Status, TenantAccess, Timestamp, UserId,
};
use sqlx::postgres::PgArguments;

use super::statements::by_owner;
use crate::arguments::{arguments, bind};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::pg_timestamp::PgTimestamp;
use crate::row::Columns;
use crate::status_code::status_code;

/// Maximum number of conversations of one read.
pub const CONVERSATIONS_PER_READ_MAX: u32 = 1_000;

static LIST_BY_OWNER: LazyLock<[String; 3]> = LazyLock::new(|| by_owner(include_str!("list_by_owner.sql")));

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Whose conversations.
    pub filter: ListFilter,
    /// Only this status; `None`: active and archived. Erased conversations are never listed.
    pub status: Option<Status>,
    /// Only conversations whose last event is at this time or later; `None`: no bound. Rows contain whole microseconds, so
    /// both bounds are rounded down.
    pub active_after: Option<Timestamp>,
    /// Only conversations whose last event is earlier than this; `None`: no bound.
    pub active_before: Option<Timestamp>,
    /// The last conversation of the previous page; `None`: the first page.
    pub after: Option<ListCursor>,
    /// Maximum number of conversations, capped at [`CONVERSATIONS_PER_READ_MAX`].
    pub limit: u32,
}

/// Whose conversations to list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListFilter {
    /// An agent's conversations with one anonymous session.
    Session {
        /// The agent.
        agent: AgentId,
        /// The session.
        session: SessionId,
    },
    /// An agent's conversations with one user.
    User {
        /// The agent.
        agent: AgentId,
        /// The user.
        user: UserId,
    },
    /// An agent's conversations with one channel.
    Channel {
        /// The agent.
        agent: AgentId,
        /// The channel.
        channel: ChannelId,
    },
    /// All conversations of an agent.
    Agent(AgentId),
    /// All conversations of the tenant.
    Tenant,
}

impl ListFilter {
    /// An agent's conversations with one owner.
    #[must_use]
    pub fn of(agent: AgentId, owner: Owner) -> Self {
        match owner {
            Owner::User(user) => Self::User { agent, user },
            Owner::Session(session) => Self::Session { agent, session },
            Owner::Channel(channel) => Self::Channel { agent, channel },
        }
    }
}

/// The end of a page: `head.last_event_at` and the id of its last conversation.
///
/// Rows contain whole microseconds, so times in one microsecond count as equal, and the id decides. The order is total:
/// following the cursors returns every unchanged conversation exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListCursor {
    /// The time of its last event.
    pub last_event_at: Timestamp,
    /// The conversation.
    pub conversation: ConversationId,
}

/// By last event, in the order of the rows: whole microseconds, then the id.
impl Ord for ListCursor {
    fn cmp(&self, other: &Self) -> Ordering {
        let [one, other] = [self, other].map(|cursor| {
            let time = PgTimestamp::from_time(cursor.last_event_at);
            (time, cursor.conversation.as_str())
        });
        one.cmp(&other)
    }
}

impl PartialOrd for ListCursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ListCursor {
    /// The cursor after a conversation.
    #[must_use]
    pub fn after(conversation: &Conversation) -> Self {
        Self { last_event_at: conversation.head.last_event_at, conversation: conversation.id.clone() }
    }
}

/// A page of conversations of the tenant that match the query, by last event and then by id, both descending.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn list_conversations(
    model: &ReadModel,
    access: &TenantAccess,
    query: &ListQuery,
) -> Result<Vec<Conversation>, ReadModelError> {
    let sql = statement(&query.filter);
    let rows = model.read(access, sql, || arguments(access, query)).await?;
    let conversation = |row| Columns::new(row, access.tenant(), "?").conversation();
    rows.iter().map(conversation).collect()
}

fn statement(filter: &ListFilter) -> &'static str {
    let [by_session, by_user, by_channel] = &*LIST_BY_OWNER;
    match filter {
        ListFilter::Session { .. } => by_session,
        ListFilter::User { .. } => by_user,
        ListFilter::Channel { .. } => by_channel,
        ListFilter::Agent(_) => include_str!("list_by_agent.sql"),
        ListFilter::Tenant => include_str!("list_by_tenant.sql"),
    }
}

fn arguments(access: &TenantAccess, query: &ListQuery) -> PgArguments {
    let tenant = access.tenant().as_str();
    let arguments = match &query.filter {
        ListFilter::Session { agent, session } => {
            arguments![tenant, agent.as_str(), session.as_str()]
        }
        ListFilter::User { agent, user } => arguments![tenant, agent.as_str(), user.as_str()],
        ListFilter::Channel { agent, channel } => {
            arguments![tenant, agent.as_str(), channel.as_str()]
        }
        ListFilter::Agent(agent) => arguments![tenant, agent.as_str()],
        ListFilter::Tenant => arguments![tenant],
    };
    let (before, conversation) = key_before(query);
    let arguments = bind(bind(bind(arguments, statuses(query.status)), before), conversation);
    let limit = query.limit.min(CONVERSATIONS_PER_READ_MAX);
    let arguments = bind(arguments, i64::from(limit));
    let active_after = query.active_after.map(PgTimestamp::from_time);
    bind(arguments, active_after.unwrap_or(PgTimestamp::NEGATIVE_INFINITY))
}

/// The exclusive upper bound of the keys of the page: the cursor or `active_before`. Ids are never empty, so the bound of a
/// time excludes all rows of that time.
fn key_before(query: &ListQuery) -> (PgTimestamp, &str) {
    let before = query.active_before.map(PgTimestamp::from_time);
    let bound = (before.unwrap_or(PgTimestamp::INFINITY), "");
    query.after.as_ref().map_or(bound, |after| {
        let time = PgTimestamp::from_time(after.last_event_at);
        bound.min((time, after.conversation.as_str()))
    })
}

/// The codes of the statuses to list.
pub(super) fn statuses(status: Option<Status>) -> Vec<i16> {
    match status {
        None => vec![status_code(Status::Active), status_code(Status::Archived)],
        Some(Status::Erased) => Vec::new(),
        Some(status) => vec![status_code(status)],
    }
}
