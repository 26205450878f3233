//! `list_conversations`: the conversations of a user, the newest first.

use domain::UserId;
use history::Deadline;
use read_model::queries::ListFilter;
use rmcp::model::Tool;
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::{ToolContext, ToolName, bounded, define, reads};
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::ConversationObject;
use conversations::listing::{Listing, Paging};
use conversations::positions::catch_up;

/// The number of conversations if none is asked for.
const CONVERSATIONS_DEFAULT: u32 = 20;
/// Most conversations of an answer.
const CONVERSATIONS_MAX: u32 = 100;

/// The arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The user whose conversations are listed.
    user_id: String,
    /// How many conversations to return; 20 if it is left out.
    #[schemars(range(min = 1, max = 100), extend("default" = 20))]
    limit: Option<i64>,
    /// The agent. Only needed if the tenant has several agents and the host names none.
    agent_id: Option<String>,
}

pub(super) fn definition() -> Tool {
    define::<Arguments, Vec<ConversationObject>>(
        ToolName::ListConversations,
        "List conversations",
        "Returns the conversations of a user without their messages, the most recently updated first; an empty list if there are \
         none. Use it to find the conversation_id of an earlier conversation.",
        reads(),
    )
}

pub(super) async fn call(context: ToolContext<'_>, arguments: Arguments) -> Result<Vec<ConversationObject>, Failure> {
    let limit = bounded("limit", arguments.limit, CONVERSATIONS_DEFAULT, CONVERSATIONS_MAX)?;
    let user = UserId::parse(arguments.user_id).map_err(|wrong| wrong.within("user_id"))?;
    let agent = arguments.agent_id.as_deref();
    let (tenant, agent) = context.caller.agent(context.state, agent).await?;
    // Of other users, a user sees what nobody has.
    if context.caller.own_user().is_some_and(|own| own != user.as_str()) {
        return Ok(Vec::new());
    }
    let gateway = &context.state.gateway;
    // Hosts send no positions, so the rows must include everything that is recorded. Rows that are late are listed as they are.
    let _ = catch_up::reached(gateway, tenant.tenant()).await?;
    let paging = Paging { token: "", size: limit, deadline: Deadline::until(None) };
    let listing = Listing::of(ListFilter::User { agent, user });
    let page = listing
        .page(&gateway.reader.read_model, &tenant, paging, |conversation| (ConversationObject::from(&conversation), 0));
    Ok(page.await?.conversations)
}
