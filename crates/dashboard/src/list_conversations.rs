//! `GET /dashboard`: the tenant's conversations, by a filter.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::StatusCode;
use bytes::Bytes;
use domain::event::Fact;
use domain::{AgentId, Conversation, ConversationId, Part, RunOutcome, Status, TenantAccess, Timestamp};
use pages::components::PageLinks;
use pages::dashboard::conversations::{ConversationRow, ConversationsPage, Outcome, SavedView, conversations};
use read_model::queries::{ConversationExcerpts, ListCursor, conversation_excerpts};
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;

use super::BASE_PATH;
use super::conversation_filter::{ConversationFilter, Sort, WORDS, id_of};
use super::conversation_matches::{Failures, Match, Matches, Tenant, failures, matches};
use super::freshness::freshness;
use super::list_url::list_url;
use crate::page::Page;
use crate::person::Person;
use conversations::page_token::{self, QueryHash, take_number};
use history::Deadline;
use http_listener::state::HttpState;

/// Most characters of an excerpt.
const EXCERPT_CHARS_MAX: usize = 240;

#[derive(Debug, Default, Deserialize)]
pub(super) struct ListQuery {
    /// The filter; absent: every conversation that is not erased.
    #[serde(default)]
    q: String,
    /// The token of the page; absent: the first page.
    #[serde(default)]
    page: String,
}

pub(super) async fn list_conversations(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<ListQuery>,
) -> Result<(StatusCode, Page), HttpProblem> {
    let filter = ConversationFilter::parse(&query.q);
    let wrong = filter.as_ref().err().cloned();
    let tenant = &person.admin.tenant;
    let (page, rows) = match &filter {
        Ok(filter) => {
            let page = read(&state, tenant, filter, &query).await?;
            let rows = rows(&state, tenant, page.found).await?;
            (Some((page.next, page.examined)), rows)
        }
        Err(_) => (None, Vec::new()),
    };
    let (next, examined) = page.unwrap_or_default();
    let next =
        next.map(|cursor| token(&query.q, tenant, &cursor)).map(|token| list_url(BASE_PATH, &query.q, Some(&token)));
    let first = list_url(BASE_PATH, &query.q, None);
    let views: Vec<SavedView> = state
        .gateway
        .registry
        .dashboard_views(tenant.tenant())
        .into_iter()
        .map(|view| SavedView {
            href: list_url(BASE_PATH, &view.filter, None),
            is_current: view.filter == query.q,
            name: view.name,
        })
        .collect();
    let markup = conversations(ConversationsPage {
        person: person.layout(),
        filter: &query.q,
        words: &WORDS,
        error: wrong.as_deref(),
        views: &views,
        is_sorted: filter.is_ok_and(|filter| filter.sort != Sort::Newest),
        rows: &rows,
        examined,
        links: PageLinks { first: (!query.page.is_empty()).then_some(first.as_str()), next: next.as_deref() },
        freshness: freshness(&state, tenant.tenant()).await,
    });
    let status = if wrong.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok((status, Page(markup)))
}

async fn read(
    state: &HttpState,
    tenant: &TenantAccess,
    filter: &ConversationFilter,
    query: &ListQuery,
) -> Result<Matches, HttpProblem> {
    let hash = query_hash(&query.q, tenant);
    let after = page_token::cursor(&query.page, hash, read_cursor)?;
    let agents = match &filter.owner {
        Some(_) => state.gateway.registry.list_agents(tenant.tenant()),
        None => Vec::new(),
    };
    let agents: Vec<AgentId> = agents.into_iter().filter_map(|agent| AgentId::parse(agent.agent_id).ok()).collect();
    let tenant = Tenant { access: tenant, agents: &agents };
    matches(&state.gateway.reader.read_model, tenant, filter, after).await.map_err(HttpProblem::from)
}

/// The rows of the page's conversations.
async fn rows(
    state: &HttpState,
    tenant: &TenantAccess,
    found: Vec<Match>,
) -> Result<Vec<ConversationRow>, HttpProblem> {
    let model = &state.gateway.reader.read_model;
    let ids: Vec<&str> = found.iter().map(|one| one.conversation.id.as_str()).collect();
    let excerpts = Deadline::until(None).rows(conversation_excerpts(model, tenant, &ids));
    let (excerpts, failures) = tokio::try_join!(excerpts, failures(model, tenant, &ids))?;
    let excerpts: HashMap<_, _> = excerpts.into_iter().map(|one| (one.id.clone(), one)).collect();
    let rows = found.into_iter().map(|one| row(one.conversation, &excerpts, &failures));
    Ok(rows.collect())
}

fn row(
    conversation: Conversation,
    excerpts: &HashMap<ConversationId, ConversationExcerpts>,
    failures: &HashMap<ConversationId, Failures>,
) -> ConversationRow {
    let excerpts = excerpts.get(&conversation.id);
    let failures = failures.get(&conversation.id);
    let head = conversation.head;
    let excerpt = |body: Option<&Bytes>| body.and_then(text).unwrap_or_default();
    ConversationRow {
        first_input: excerpt(excerpts.and_then(|one| one.first_input.as_ref())),
        last_output: excerpt(excerpts.and_then(|one| one.last_output.as_ref())),
        errors: failures.map_or(0, |failures| failures.errors),
        outcome: failures.and_then(|failures| failures.last_outcome.map(outcome)),
        id: conversation.id.as_str().to_owned(),
        title: conversation.title.unwrap_or_default(),
        agent: head.agent.as_str().to_owned(),
        owner: head.owner.as_ref().map(id_of).unwrap_or_default().to_owned(),
        is_archived: head.status == Status::Archived,
        messages: head.totals.messages,
        tokens: head.totals.input_tokens.saturating_add(head.totals.output_tokens),
        last_event_at: head.last_event_at,
    }
}

fn outcome(outcome: RunOutcome) -> Outcome {
    match outcome {
        RunOutcome::Completed => Outcome::Completed,
        RunOutcome::Stopped => Outcome::Stopped,
        RunOutcome::Failed => Outcome::Failed,
        RunOutcome::Abandoned => Outcome::Abandoned,
    }
}

/// The beginning of a message's text.
fn text(body: &Bytes) -> Option<String> {
    let event = wire::commit::decode_event(body.clone()).ok()?;
    let Fact::MessageAppended(message) = event.fact else {
        return None;
    };
    let texts =
        message.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None });
    let text: String = texts.collect::<Vec<_>>().join(" ");
    Some(text.chars().take(EXCERPT_CHARS_MAX).collect())
}

fn query_hash(filter: &str, tenant: &TenantAccess) -> QueryHash {
    let tenant = tenant.tenant().as_str().as_bytes();
    QueryHash::of(&[b"dashboard conversations", tenant, filter.as_bytes()])
}

fn token(filter: &str, tenant: &TenantAccess, cursor: &ListCursor) -> String {
    let mut bytes = cursor.last_event_at.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(cursor.conversation.as_str().as_bytes());
    page_token::encode(query_hash(filter, tenant), &bytes)
}

fn read_cursor(bytes: &[u8]) -> Option<ListCursor> {
    let (time, id) = take_number(bytes)?;
    let id = std::str::from_utf8(id).ok()?;
    Some(ListCursor { last_event_at: Timestamp(time.cast_signed()), conversation: ConversationId::parse(id).ok()? })
}
