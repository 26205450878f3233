//! Pages of conversations from the rows, ordered by their last event, newest first. Used by gRPC and HTTP.

use domain::{ConversationId, Status, TenantAccess, Timestamp};
use read_model::ReadModel;
use read_model::queries::{self, ListCursor, ListFilter, ListQuery};
use wire::proto::event::v1::ConversationStatus;
use wire::status::Problem;

use crate::page_token::{self, QueryHash, take_number};
use crate::request::BoundedNumber;
use history::Deadline;

/// The number of conversations of a page.
pub const CONVERSATIONS_PAGE: BoundedNumber = BoundedNumber { field: "page_size", default: 50, max: 200 };
/// Maximum size of a page, in bytes. A page holds at least one conversation.
pub const CONVERSATIONS_PAGE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The owner, agent or tenant.
    pub filter: ListFilter,
    /// Only conversations with this status; `None`: active and archived ones.
    pub status: Option<Status>,
    /// Only conversations whose last event is not before this time.
    pub active_after: Option<Timestamp>,
    /// Only conversations whose last event is before this time.
    pub active_before: Option<Timestamp>,
}

/// The start and the size of a page.
#[derive(Debug, Clone, Copy)]
pub struct Paging<'a> {
    /// The token from the previous page; empty: the first page.
    pub token: &'a str,
    /// Maximum number of conversations.
    pub size: u32,
    /// The deadline of the read.
    pub deadline: Deadline,
}

/// A page of conversations.
#[derive(Debug)]
pub struct ConversationPage<T> {
    /// The conversations.
    pub conversations: Vec<T>,
    /// The token of the next page; `None`: this is the last page.
    pub next: Option<String>,
}

impl Listing {
    /// The conversations of a filter, active and archived, of any time.
    #[must_use]
    pub fn of(filter: ListFilter) -> Self {
        Self { filter, status: None, active_after: None, active_before: None }
    }

    /// Reads a page from `rows`. `convert` returns a conversation for the answer and its size in bytes.
    ///
    /// # Errors
    /// The token is invalid or of another query, or the rows do not answer.
    pub async fn page<T>(
        &self,
        rows: &ReadModel,
        access: &TenantAccess,
        paging: Paging<'_>,
        convert: impl Fn(domain::Conversation) -> (T, usize),
    ) -> Result<ConversationPage<T>, Problem> {
        let hash = self.hash(access);
        let query = ListQuery {
            filter: self.filter.clone(),
            status: self.status,
            active_after: self.active_after,
            active_before: self.active_before,
            after: page_token::cursor(paging.token, hash, read_cursor)?,
            limit: paging.size.saturating_add(1),
        };
        let found = paging.deadline.rows(queries::list_conversations(rows, access, &query)).await?;
        Ok(page(found, paging.size, hash, convert))
    }

    fn hash(&self, access: &TenantAccess) -> QueryHash {
        let (name, agent, owner) = match &self.filter {
            ListFilter::Session { agent, session } => ("session", agent.as_str(), session.as_str()),
            ListFilter::User { agent, user } => ("user", agent.as_str(), user.as_str()),
            ListFilter::Channel { agent, channel } => ("channel", agent.as_str(), channel.as_str()),
            ListFilter::Agent(agent) => ("agent", agent.as_str(), ""),
            ListFilter::Tenant => ("tenant", "", ""),
        };
        let status = self.status.map_or(ConversationStatus::Unspecified, wire::conversation::status_to_proto);
        let bound = |time: Option<Timestamp>| time.map(|time| time.0.to_be_bytes().to_vec()).unwrap_or_default();
        QueryHash::of(&[
            b"conversations",
            access.tenant().as_str().as_bytes(),
            agent.as_bytes(),
            name.as_bytes(),
            owner.as_bytes(),
            status.as_str_name().as_bytes(),
            &bound(self.active_after),
            &bound(self.active_before),
        ])
    }
}

/// The conversations that fit into a page. One conversation more than `size` shows that there is a next page.
fn page<T>(
    found: Vec<domain::Conversation>,
    size: u32,
    hash: QueryHash,
    convert: impl Fn(domain::Conversation) -> (T, usize),
) -> ConversationPage<T> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (mut conversations, mut next) = (Vec::new(), None);
    let (mut bytes, mut last) = (0, None);
    for conversation in found {
        let cursor = ListCursor::after(&conversation);
        let (converted, size_bytes) = convert(conversation);
        bytes += size_bytes;
        let listed = conversations.len();
        if listed >= size || (listed > 0 && bytes > CONVERSATIONS_PAGE_BYTES_MAX) {
            next = last.map(|last| token(hash, &last));
            break;
        }
        conversations.push(converted);
        last = Some(cursor);
    }
    ConversationPage { conversations, next }
}

fn token(hash: QueryHash, cursor: &ListCursor) -> String {
    let mut bytes = cursor.last_event_at.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(cursor.conversation.as_str().as_bytes());
    page_token::encode(hash, &bytes)
}

fn read_cursor(bytes: &[u8]) -> Option<ListCursor> {
    let (time, id) = take_number(bytes)?;
    let id = std::str::from_utf8(id).ok()?;
    Some(ListCursor { last_event_at: Timestamp(time.cast_signed()), conversation: ConversationId::parse(id).ok()? })
}
