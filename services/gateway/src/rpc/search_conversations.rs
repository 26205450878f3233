//! Searches conversations, by pages.

use domain::AgentId;
use search::Kind;
use tonic::{Request, Response, Status};
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use conversations::Gateway;
use conversations::audit::record_listing;
use conversations::problem::access_problem;
use conversations::request::{Call, fences, parse_enum};
use conversations::search::{
    SEARCH_PAGE, SearchAgents, SearchAudience, SearchOrder, SearchPage, SearchRequest, SearchResult, search,
};

pub(super) async fn handle(
    gateway: &Gateway,
    request: Request<proto::SearchConversationsRequest>,
) -> Result<Response<proto::SearchConversationsResponse>, Status> {
    let call = Call::of(&request);
    let request = request.into_inner();
    let agent = call.agent(gateway, &request.agent_id).await.map_err(Problem::from)?;
    let page_size = SEARCH_PAGE.take(request.page_size);
    let order = parse_enum(request.order, "order").map_err(Problem::from)?;
    let access = call.authorize(gateway, agent.clone(), "agent_id").await?;
    let principal = call.principal(gateway).await?;
    record_listing(gateway, &principal, access.tenant.tenant(), "search")?;
    let request = SearchRequest {
        access: access.tenant,
        agents: agents(gateway, &call, agent, request.whole_tenant).await?,
        owner: None,
        audience: SearchAudience::Staff,
        query: &request.query,
        order: match order {
            proto::SearchOrder::Relevance => SearchOrder::Relevance,
            proto::SearchOrder::Unspecified | proto::SearchOrder::Newest => SearchOrder::Newest,
        },
        page_token: &request.page_token,
        page_size: page_size.map_err(Problem::from)?,
        fences: fences(gateway, &request.position_tokens)?,
        deadline: call.deadline,
    };
    let page = search(gateway, request).await?;
    Ok(Response::new(response(page)))
}

async fn agents(gateway: &Gateway, call: &Call, agent: AgentId, whole_tenant: bool) -> Result<SearchAgents, Problem> {
    if !whole_tenant {
        return Ok(SearchAgents::Only(vec![agent]));
    }
    let principal = call.principal(gateway).await?;
    principal.require_whole_tenant().map_err(|error| access_problem(&error, "whole_tenant"))?;
    Ok(SearchAgents::Tenant)
}

fn response(page: SearchPage) -> proto::SearchConversationsResponse {
    let count = page.match_count;
    proto::SearchConversationsResponse {
        results: page.results.into_iter().map(result).collect(),
        next_page_token: page.next.unwrap_or_default(),
        match_count: count.map(|count| count.count),
        match_count_is_capped: count.is_some_and(|count| count.is_capped),
        indexed_until: page.indexed_until.map(wire::time::to_proto),
        is_reindexing: page.is_reindexing,
    }
}

fn result(result: SearchResult) -> proto::SearchResult {
    let kind = match result.kind {
        Kind::Title => proto::SearchResultKind::Title,
        Kind::Message => proto::SearchResultKind::Message,
        Kind::ToolCall => proto::SearchResultKind::ToolCall,
        Kind::ToolResult => proto::SearchResultKind::ToolResult,
    };
    let snippet =
        result.snippet.into_iter().map(|part| proto::SnippetPart { text: part.text, is_match: part.is_match });
    let user = result.user.as_ref();
    proto::SearchResult {
        conversation_id: result.conversation.as_str().to_owned(),
        agent_id: result.agent.as_str().to_owned(),
        user_id: user.map_or_else(String::new, |user| user.as_str().to_owned()),
        title: result.title.unwrap_or_default(),
        status: wire::conversation::status_to_proto(result.status).into(),
        kind: kind.into(),
        version: result.version.map_or(0, |version| version.0),
        role: result.role.map_or(0, |role| i32::from(role.code())),
        tool_name: result.tool_name.unwrap_or_default(),
        recorded_at: Some(wire::time::to_proto(result.recorded_at)),
        is_rewound: result.is_rewound,
        snippet: snippet.collect(),
    }
}
