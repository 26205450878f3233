//! Pages of conversations from the rows, the one with the latest event first, for every door.

use domain::{ConversationId, Status as Stands, TenantAccess, Timestamp};
use read_model::queries::{self, ListCursor, ListFilter, ListQuery};
use wire::proto::event::v1::ConversationStatus;
use wire::status::Problem;

use crate::page_token::{self, QueryHash, take_number};
use crate::request::Bounded;
use crate::{Gateway, problem};
use history::Deadline;

/// Conversations of a page.
pub const CONVERSATIONS_PAGE: Bounded = Bounded {
    field: "page_size",
    default: 50,
    max: 200,
};
/// A page ends before it passes this many bytes; at least one conversation comes.
pub const CONVERSATIONS_PAGE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Which conversations to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Whose.
    pub filter: ListFilter,
    /// Only those of this status; `None`: active and archived.
    pub status: Option<Stands>,
    /// Only those whose last event is of this time or later.
    pub active_after: Option<Timestamp>,
    /// Only those whose last event is earlier than this.
    pub active_before: Option<Timestamp>,
}

/// Where a page begins, and how much it may hold.
#[derive(Debug, Clone, Copy)]
pub struct Paging<'a> {
    /// The token of the page before; empty: the first page.
    pub token: &'a str,
    /// Most conversations.
    pub size: u32,
    /// How long to wait for the rows.
    pub deadline: Deadline,
}

/// A page as a door shows it.
#[derive(Debug)]
pub struct Listed<T> {
    /// The conversations.
    pub conversations: Vec<T>,
    /// The token of the next page; `None`: there is none.
    pub next: Option<String>,
}

impl Listing {
    /// All of these, whatever their status and time.
    #[must_use]
    pub fn of(filter: ListFilter) -> Self {
        Self {
            filter,
            status: None,
            active_after: None,
            active_before: None,
        }
    }

    /// A page, each conversation as `shape` makes it, with its size in bytes.
    ///
    /// # Errors
    /// The token is none, or of another query; the rows do not answer.
    pub async fn page<T>(
        &self,
        gateway: &Gateway,
        access: &TenantAccess,
        paging: Paging<'_>,
        shape: impl Fn(domain::Conversation) -> (T, usize),
    ) -> Result<Listed<T>, Problem> {
        let hash = self.hash(access);
        let query = ListQuery {
            filter: self.filter.clone(),
            status: self.status,
            active_after: self.active_after,
            active_before: self.active_before,
            after: cursor(paging.token, hash)?,
            limit: paging.size.saturating_add(1),
        };
        let found = queries::list_conversations(&gateway.reader.read_model, access, &query);
        let found = paging.deadline.rows(found).await?;
        Ok(cut(found, paging.size, hash, shape))
    }

    fn hash(&self, access: &TenantAccess) -> QueryHash {
        let (name, agent, whose) = match &self.filter {
            ListFilter::Session { agent, session } => ("session", agent.as_str(), session.as_str()),
            ListFilter::User { agent, user } => ("user", agent.as_str(), user.as_str()),
            ListFilter::Channel { agent, channel } => ("channel", agent.as_str(), channel.as_str()),
            ListFilter::Agent(agent) => ("agent", agent.as_str(), ""),
            ListFilter::Tenant => ("tenant", "", ""),
        };
        let status = self.status.map_or(
            ConversationStatus::Unspecified,
            wire::conversation::status_to_proto,
        );
        let bound = |time: Option<Timestamp>| {
            let time = time.map(|time| time.0.to_be_bytes().to_vec());
            time.unwrap_or_default()
        };
        QueryHash::of(&[
            b"conversations",
            access.tenant().as_str().as_bytes(),
            agent.as_bytes(),
            name.as_bytes(),
            whose.as_bytes(),
            status.as_str_name().as_bytes(),
            &bound(self.active_after),
            &bound(self.active_before),
        ])
    }
}

/// As many as fit; one more than was asked for tells that there is a next page.
fn cut<T>(
    found: Vec<domain::Conversation>,
    size: u32,
    hash: QueryHash,
    shape: impl Fn(domain::Conversation) -> (T, usize),
) -> Listed<T> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let (mut conversations, mut next) = (Vec::new(), None);
    let (mut bytes, mut last) = (0, None);
    for conversation in found {
        let cursor = ListCursor::behind(&conversation);
        let (shaped, shaped_bytes) = shape(conversation);
        bytes += shaped_bytes;
        let listed = conversations.len();
        if listed >= size || (listed > 0 && bytes > CONVERSATIONS_PAGE_BYTES_MAX) {
            next = last.map(|last| token(hash, &last));
            break;
        }
        conversations.push(shaped);
        last = Some(cursor);
    }
    Listed {
        conversations,
        next,
    }
}

fn token(hash: QueryHash, cursor: &ListCursor) -> String {
    let mut bytes = cursor.last_event_at.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(cursor.conversation.as_str().as_bytes());
    page_token::encode(hash, &bytes)
}

fn cursor(token: &str, hash: QueryHash) -> Result<Option<ListCursor>, Problem> {
    let cursor = page_token::decode(token, hash)?;
    let cursor = cursor.map(|bytes| read_cursor(&bytes).ok_or_else(problem::page_token_invalid));
    cursor.transpose()
}

fn read_cursor(bytes: &[u8]) -> Option<ListCursor> {
    let (time, id) = take_number(bytes)?;
    let id = std::str::from_utf8(id).ok()?;
    Some(ListCursor {
        last_event_at: Timestamp(time.cast_signed()),
        conversation: ConversationId::parse(id).ok()?,
    })
}
