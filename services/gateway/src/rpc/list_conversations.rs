//! Lists conversations of a session, user, channel, agent or tenant, by pages.

use domain::{AgentId, ChannelId, SessionId, UserId, Violation};
use prost::Message as _;
use read_model::queries::ListFilter;
use tonic::{Request, Response, Status};
use wire::proto::event::v1::ConversationStatus;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::list_conversations_request::Filter;
use wire::status::Problem;

use conversations::Gateway;
use conversations::audit::record_listing;
use conversations::listing::{CONVERSATIONS_PAGE, Listing, Paging};
use conversations::problem::access_problem;
use conversations::request::{Call, missing, parse_enum};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::ListConversationsRequest>,
) -> Result<Response<proto::ListConversationsResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let agent = call.agent(gateway, &request.agent_id).await.map_err(Problem::from)?;
    let size = CONVERSATIONS_PAGE.take(request.page_size).map_err(Problem::from)?;
    let listing = Listing {
        status: status(request.status).map_err(Problem::from)?,
        ..Listing::of(filter(request.filter, agent.clone()).map_err(Problem::from)?)
    };
    let access = call.authorize(gateway, agent, "agent_id").await?;
    let principal = call.principal(gateway).await?;
    if listing.filter == ListFilter::Tenant {
        principal.require_whole_tenant().map_err(|error| access_problem(&error, "filter"))?;
    }
    record_listing(gateway, &principal, access.tenant.tenant(), "listing")?;
    let paging = Paging { token: &request.page_token, size, deadline: call.deadline };
    let rows = gateway.reader.read_model.for_request(access.tenant.tenant());
    let page = listing
        .page(&rows, &access.tenant, paging, |conversation| {
            let conversation = wire::reads::conversation(conversation);
            let bytes = conversation.encoded_len();
            (conversation, bytes)
        })
        .await?;
    Ok(Response::new(proto::ListConversationsResponse {
        conversations: page.conversations,
        next_page_token: page.next.unwrap_or_default(),
    }))
}

fn filter(filter: Option<Filter>, agent: AgentId) -> Result<ListFilter, Violation> {
    match filter {
        Some(Filter::SessionId(session)) => SessionId::parse(session)
            .map(|session| ListFilter::Session { agent, session })
            .map_err(|violation| violation.within("session_id")),
        Some(Filter::UserId(user)) => UserId::parse(user)
            .map(|user| ListFilter::User { agent, user })
            .map_err(|violation| violation.within("user_id")),
        Some(Filter::ChannelId(channel)) => ChannelId::parse(channel)
            .map(|channel| ListFilter::Channel { agent, channel })
            .map_err(|violation| violation.within("channel_id")),
        Some(Filter::WholeAgent(_)) => Ok(ListFilter::Agent(agent)),
        Some(Filter::WholeTenant(_)) => Ok(ListFilter::Tenant),
        None => Err(missing().within("filter")),
    }
}

fn status(status: i32) -> Result<Option<domain::Status>, Violation> {
    parse_enum::<ConversationStatus>(status, "status").map(wire::conversation::status_from_proto)
}
