//! A page of conversations, the one with the latest event first.
//!
//! Keyset: a page begins after the last row of the page before, by the index that its filter has, so the cost of a page
//! grows neither with the pages before it nor with the tenant.

use domain::{
    AgentId, ChannelId, Conversation, ConversationId, Owner, SessionId, Status, TenantAccess,
    Timestamp, UserId,
};
use sqlx::postgres::PgArguments;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::moment::Moment;
use crate::row::Columns;
use crate::status_code::status_code;

/// Most conversations of one read.
pub const CONVERSATIONS_PER_READ_MAX: u32 = 1_000;

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListQuery {
    /// Whose.
    pub filter: ListFilter,
    /// Only those of this status; `None`: active and archived. Erased ones are never listed.
    pub status: Option<Status>,
    /// Only those whose last event is of this time or later; `None`: of any. Rows keep whole microseconds, so both bounds
    /// are rounded down to them.
    pub active_after: Option<Timestamp>,
    /// Only those whose last event is earlier than this; `None`: as late as any.
    pub active_before: Option<Timestamp>,
    /// The last conversation of the page before; `None`: the first page.
    pub after: Option<ListCursor>,
    /// Most conversations to read; [`CONVERSATIONS_PER_READ_MAX`] at most, whatever is asked for.
    pub limit: u32,
}

/// Whose conversations to list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListFilter {
    /// An agent's with one anonymous session.
    Session {
        /// The agent.
        agent: AgentId,
        /// The session.
        session: SessionId,
    },
    /// An agent's with one user.
    User {
        /// The agent.
        agent: AgentId,
        /// The user.
        user: UserId,
    },
    /// An agent's with one channel.
    Channel {
        /// The agent.
        agent: AgentId,
        /// The channel.
        channel: ChannelId,
    },
    /// All of an agent's.
    Agent(AgentId),
    /// All of the tenant's.
    Tenant,
}

impl ListFilter {
    /// An agent's with one owner.
    #[must_use]
    pub fn of(agent: AgentId, owner: Owner) -> Self {
        match owner {
            Owner::User(user) => Self::User { agent, user },
            Owner::Session(session) => Self::Session { agent, session },
            Owner::Channel(channel) => Self::Channel { agent, channel },
        }
    }
}

/// Where a page ended: the `head.last_event_at` and the id of its last conversation.
///
/// Rows keep whole microseconds, so times of one microsecond count as equal here and their conversations are ordered by
/// id. The order is total either way: following cursors gives every conversation that nothing happens in exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListCursor {
    /// When something last happened in it.
    pub last_event_at: Timestamp,
    /// The conversation.
    pub conversation: ConversationId,
}

impl ListCursor {
    /// The cursor behind a conversation.
    #[must_use]
    pub fn behind(conversation: &Conversation) -> Self {
        Self {
            last_event_at: conversation.head.last_event_at,
            conversation: conversation.id.clone(),
        }
    }
}

/// A page of the tenant's conversations within the bounds of the query, by last event and then by id, both falling.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn list_conversations(
    model: &ReadModel,
    access: &TenantAccess,
    query: &ListQuery,
) -> Result<Vec<Conversation>, ReadModelError> {
    let rows = model
        .read(access, statement(&query.filter), || {
            arguments(access, query)
        })
        .await?;
    let columns = rows
        .iter()
        .map(|row| Columns::of(row, access.tenant(), "?"));
    columns.map(Columns::conversation).collect()
}

fn statement(filter: &ListFilter) -> &'static str {
    match filter {
        ListFilter::Session { .. } => include_str!("list_by_session.sql"),
        ListFilter::User { .. } => include_str!("list_by_user.sql"),
        ListFilter::Channel { .. } => include_str!("list_by_channel.sql"),
        ListFilter::Agent(_) => include_str!("list_by_agent.sql"),
        ListFilter::Tenant => include_str!("list_by_tenant.sql"),
    }
}

fn arguments(access: &TenantAccess, query: &ListQuery) -> PgArguments {
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = match &query.filter {
        ListFilter::Session { agent, session } => {
            bind(bind(arguments, agent.as_str()), session.as_str())
        }
        ListFilter::User { agent, user } => bind(bind(arguments, agent.as_str()), user.as_str()),
        ListFilter::Channel { agent, channel } => {
            bind(bind(arguments, agent.as_str()), channel.as_str())
        }
        ListFilter::Agent(agent) => bind(arguments, agent.as_str()),
        ListFilter::Tenant => arguments,
    };
    let (moment, conversation) = key_before(query);
    let arguments = bind(arguments, statuses(query.status));
    let arguments = bind(arguments, moment);
    let arguments = bind(arguments, conversation);
    let limit = query.limit.min(CONVERSATIONS_PER_READ_MAX);
    let arguments = bind(arguments, i64::from(limit));
    bind(
        arguments,
        query
            .active_after
            .map_or(Moment::NEGATIVE_INFINITY, Moment::of),
    )
}

/// The key that the page's rows are before: the cursor's, or that of the time that bounds the list, which no row of that
/// time is before since no id is empty.
fn key_before(query: &ListQuery) -> (Moment, &str) {
    let bound = query.active_before.map_or(Moment::INFINITY, Moment::of);
    match &query.after {
        Some(cursor) => {
            let key = (
                Moment::of(cursor.last_event_at),
                cursor.conversation.as_str(),
            );
            key.min((bound, ""))
        }
        None => (bound, ""),
    }
}

/// The codes of the statuses to list.
pub(super) fn statuses(status: Option<Status>) -> Vec<i16> {
    match status {
        None => vec![status_code(Status::Active), status_code(Status::Archived)],
        Some(Status::Erased) => Vec::new(),
        Some(status) => vec![status_code(status)],
    }
}
