//! Conversations as resources: `hansard://conversations/{id}` is a conversation with its last messages, as JSON.

use history::Deadline;
use read_model::queries::ListFilter;
use rmcp::model::{
    CacheScope, ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use runtime::http::HttpProblem;
use wire::status::Reason;

use super::caller::McpCaller;
use super::failure::Failure;
use super::tools::messages::{self, MESSAGES_MAX};
use super::tools::{ToolContext, ToolName};
use conversations::listing::{Listing, Paging};
use conversations::positions::catch_up;

/// The start of a conversation's URI.
const URI_PREFIX: &str = "hansard://conversations/";
const MIME_TYPE: &str = "application/json";
/// Conversations of a page.
const PAGE_SIZE: u32 = 50;

/// The conversations of the user, or of the agent, the most recently updated first.
///
/// # Errors
/// `-32602` for a cursor of another listing, or if the agent is not determined.
pub(super) async fn list(context: ToolContext<'_>, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    context.caller.record_read(context.state, "resources/list", None).await.map_err(rejected)?;
    let (tenant, agent) = context.caller.agent(context.state, None).await.map_err(rejected)?;
    let filter = match context.caller {
        McpCaller::User(caller) => ListFilter::of(agent, caller.owner.clone()),
        McpCaller::Service(_) | McpCaller::Admin(_) => ListFilter::Agent(agent),
    };
    let gateway = &context.state.gateway;
    // As `list_conversations`.
    let reached = catch_up::reached(gateway, tenant.tenant()).await;
    let _ = reached.map_err(|error| rejected(HttpProblem::from(error)))?;
    let paging =
        Paging { token: cursor.as_deref().unwrap_or_default(), size: PAGE_SIZE, deadline: Deadline::until(None) };
    let listing = Listing::of(filter);
    let page = listing
        .page(&gateway.reader.read_model, &tenant, paging, |conversation| {
            let id = conversation.id.as_str();
            let resource = Resource::new(format!("{URI_PREFIX}{id}"), id).with_mime_type(MIME_TYPE);
            let resource = match &conversation.title {
                Some(title) => resource.with_title(title),
                None => resource,
            };
            (resource, 0)
        })
        .await
        .map_err(|error| rejected(HttpProblem::from(error)))?;
    let mut listed = ListResourcesResult::with_all_items(page.conversations);
    listed.next_cursor = page.next;
    Ok(listed.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The form of the URIs.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(format!("{URI_PREFIX}{{id}}"), "conversation")
        .with_title("Conversation")
        .with_description("A conversation with its last 100 messages, oldest first.")
        .with_mime_type(MIME_TYPE);
    ListResourceTemplatesResult::with_all_items(vec![template]).with_ttl_ms(0).with_cache_scope(CacheScope::Private)
}

/// A conversation with its last messages.
///
/// # Errors
/// The code of a missing resource for a missing conversation and for a foreign one alike.
pub(super) async fn read(context: ToolContext<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found("no such resource for this caller", None);
    let id = conversation_id(uri).ok_or_else(missing)?;
    if !ToolName::FetchChatHistory.is_for(context.caller) {
        return Err(ErrorData::invalid_params("the token lacks the scope read", None));
    }
    context.caller.record_read(context.state, "resources/read", Some(id)).await.map_err(rejected)?;
    let limit = usize::try_from(MESSAGES_MAX).unwrap_or(usize::MAX);
    let history = messages::newest(&context, id, limit).await.map_err(|failure| match failure {
        failure if failure.is(Reason::ConversationNotFound) => missing(),
        failure => unreadable(&failure),
    })?;
    let text = serde_json::to_string(&history).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let contents = ResourceContents::text(text, uri).with_mime_type(MIME_TYPE);
    let read = ReadResourceResult::new(vec![contents]);
    Ok(read.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
}

/// The conversation that a URI names.
pub(super) fn conversation_id(uri: &str) -> Option<&str> {
    uri.strip_prefix(URI_PREFIX)
}

/// The cursor is not one that the server issued.
pub(super) fn unknown_cursor() -> ErrorData {
    let message = "the cursor is not of this listing: send nextCursor unchanged";
    ErrorData::invalid_params(message, None)
}

fn rejected(problem: HttpProblem) -> ErrorData {
    if problem.field.as_deref() == Some("page_token") {
        return unknown_cursor();
    }
    unreadable(&Failure::from(problem))
}

/// The caller's failure, or the server's.
pub(super) fn unreadable(failure: &Failure) -> ErrorData {
    if failure.is_of_caller() {
        return ErrorData::invalid_params(failure.text(), None);
    }
    ErrorData::internal_error(failure.text(), None)
}
