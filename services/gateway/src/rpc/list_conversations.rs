//! Conversations, the one with the latest event first: a page of the read model.

use domain::{AgentId, ConversationId, SessionId, Status as Stands, Timestamp, UserId, Violation};
use event_log::registry::AgentAccess;
use prost::Message as _;
use read_model::queries::{self, ListCursor, ListFilter, ListQuery};
use tonic::{Request, Response, Status};
use wire::proto::event::v1::ConversationStatus;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::status::Problem;

use crate::Gateway;
use crate::page_token::{self, QueryHash, take_number};
use crate::problem;
use crate::request::{Bounded, Call, agent_id, known, missing};

/// Conversations of a page.
pub const CONVERSATIONS_PAGE: Bounded = Bounded {
    field: "page_size",
    default: 50,
    max: 200,
};
/// A page ends before it passes this many bytes; at least one conversation comes.
pub const CONVERSATIONS_PAGE_BYTES_MAX: usize = 3 * 1024 * 1024;

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::ListConversationsRequest>,
) -> Result<Response<proto::ListConversationsResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let agent = agent_id(&request.agent_id).map_err(Problem::from)?;
    let page_size = CONVERSATIONS_PAGE
        .take(request.page_size)
        .map_err(Problem::from)?;
    let status = status(request.status).map_err(Problem::from)?;
    let filter = filter(request.filter, agent.clone()).map_err(Problem::from)?;
    let access = call.authorize(gateway, agent, "agent_id").await?;
    let hash = hash(&access, &filter, status);
    let query = ListQuery {
        filter,
        status,
        active_after: None,
        active_before: None,
        after: cursor(&request.page_token, hash)?,
        limit: page_size + 1,
    };
    let found = queries::list_conversations(&gateway.read_model, &access.tenant, &query);
    let found = call.patience.rows(found).await?;
    Ok(Response::new(page(found, page_size, hash)))
}

/// As many as fit; one more than was asked for tells that there is a next page.
fn page(
    found: Vec<domain::Conversation>,
    page_size: u32,
    hash: QueryHash,
) -> proto::ListConversationsResponse {
    let page_size = usize::try_from(page_size).unwrap_or(usize::MAX);
    let mut page = proto::ListConversationsResponse::default();
    let (mut bytes, mut last) = (0, None);
    for conversation in found {
        let cursor = ListCursor::behind(&conversation);
        let conversation = wire::reads::conversation(conversation);
        bytes += conversation.encoded_len();
        let listed = page.conversations.len();
        if listed >= page_size || (listed > 0 && bytes > CONVERSATIONS_PAGE_BYTES_MAX) {
            page.next_page_token = last.map(|last| token(hash, &last)).unwrap_or_default();
            break;
        }
        page.conversations.push(conversation);
        last = Some(cursor);
    }
    page
}

fn filter(filter: Option<Filter>, agent: AgentId) -> Result<ListFilter, Violation> {
    match filter {
        Some(Filter::SessionId(session)) => {
            let session =
                SessionId::parse(session).map_err(|violation| violation.within("session_id"))?;
            Ok(ListFilter::Session { agent, session })
        }
        Some(Filter::UserId(user)) => {
            let user = UserId::parse(user).map_err(|violation| violation.within("user_id"))?;
            Ok(ListFilter::User { agent, user })
        }
        Some(Filter::WholeAgent(_)) => Ok(ListFilter::Agent(agent)),
        Some(Filter::WholeTenant(_)) => Ok(ListFilter::Tenant),
        None => Err(missing().within("filter")),
    }
}

fn status(status: i32) -> Result<Option<Stands>, Violation> {
    known::<ConversationStatus>(status, "status").map(wire::conversation::status_from_proto)
}

fn hash(access: &AgentAccess, filter: &ListFilter, status: Option<Stands>) -> QueryHash {
    let (name, whose) = match filter {
        ListFilter::Session { session, .. } => ("session", session.as_str()),
        ListFilter::User { user, .. } => ("user", user.as_str()),
        ListFilter::Agent(_) => ("agent", ""),
        ListFilter::Tenant => ("tenant", ""),
    };
    let status = status.map_or(
        ConversationStatus::Unspecified,
        wire::conversation::status_to_proto,
    );
    QueryHash::of(&[
        b"conversations",
        access.tenant.tenant().as_str().as_bytes(),
        access.agent.as_str().as_bytes(),
        name.as_bytes(),
        whose.as_bytes(),
        status.as_str_name().as_bytes(),
    ])
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
