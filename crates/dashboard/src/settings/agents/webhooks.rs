//! `/dashboard/settings/agents/{agent}/webhooks`: the webhooks of an agent, their secret, and recent calls.

mod deliveries;
pub mod rotate_secret;
pub mod show_webhooks;

use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::webhooks::{WebhookRow, WebhooksPage, webhooks};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::{Agent, ToolSettings};

use super::StatusPage;
use crate::freshness::freshness;
use crate::page::Page;
use crate::person::Person;
use deliveries::{CONVERSATIONS_SEARCHED, deliveries};
use http_listener::state::HttpState;

/// The page of an agent's webhooks.
async fn page(
    state: &HttpState,
    person: &Person,
    agent: Agent,
    new: Option<NewSecret<'_>>,
    error: Option<&str>,
) -> Result<Page, HttpProblem> {
    let tools = agent.settings.unwrap_or_default().tools.into_iter().filter(|tool| !tool.webhook_url.is_empty());
    let rows: Vec<WebhookRow> = tools.map(row).collect();
    let calls = deliveries(state, &person.admin.tenant, &agent.agent_id, &rows).await?;
    Ok(Page(webhooks(WebhooksPage {
        person: person.layout(),
        agent: &agent.agent_id,
        webhooks: &rows,
        deliveries: &calls,
        conversations_max: CONVERSATIONS_SEARCHED,
        new,
        error,
        freshness: freshness(state, person.admin.tenant.tenant()).await,
    })))
}

fn row(tool: ToolSettings) -> WebhookRow {
    WebhookRow {
        tool: tool.tool_name,
        url: tool.webhook_url,
        needs_approval: tool.needs_approval,
        timeout_ms: tool.timeout_ms,
    }
}
