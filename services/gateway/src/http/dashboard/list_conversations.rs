//! `GET /dashboard`: the tenant's conversations.

use axum::extract::State;
use domain::Conversation;
use pages::components::PageLinks;
use pages::dashboard::conversations::{ConversationRow, ConversationsPage, conversations};
use pages::layout::Freshness;
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;

use super::{BASE_PATH, Page, Person};
use crate::http::{HttpState, problem};
use crate::listing::{CONVERSATIONS_PAGE, Listing, Paging};
use history::Deadline;

#[derive(Debug, Default, Deserialize)]
pub(super) struct ListQuery {
    /// The token of the page; absent: the first page.
    page: Option<String>,
}

pub(super) async fn list_conversations(
    State(state): State<HttpState>,
    person: Person,
    Query(query): Query<ListQuery>,
) -> Result<Page, HttpProblem> {
    let token = query.page.unwrap_or_default();
    let paging = Paging {
        token: &token,
        size: CONVERSATIONS_PAGE.default,
        deadline: Deadline::until(None),
    };
    let listing = Listing::of(ListFilter::Tenant);
    let tenant = &person.admin.tenant;
    let page = listing.page(&state.gateway, tenant, paging, |conversation| {
        (row(conversation), 0)
    });
    let page = page.await.map_err(problem::from_problem)?;
    let next = page.next.map(|token| format!("{BASE_PATH}?page={token}"));
    Ok(Page(conversations(ConversationsPage {
        person: person.layout(),
        rows: &page.conversations,
        links: PageLinks {
            first: (!token.is_empty()).then_some(BASE_PATH),
            next: next.as_deref(),
        },
        freshness: Freshness::None,
    })))
}

fn row(conversation: Conversation) -> ConversationRow {
    ConversationRow {
        id: conversation.id.as_str().to_owned(),
        title: conversation.title.unwrap_or_default(),
        agent: conversation.head.agent.as_str().to_owned(),
        last_event_at: conversation.head.last_event_at,
    }
}
